// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "train/training_step.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "model/model_impl.h"
#include "passes/factor_gradients.h"
#include "runtime/specialize.h"

namespace thalweg {
namespace {

constexpr size_t kMaxPrograms = 8;
/// Idle arenas are given back beyond this: the last, smaller batch of an epoch must not double the memory of a run.
constexpr size_t kMaxArenaBytes = size_t{1} << 30U;

std::vector<TensorType> key_of(const data::Batch& batch) {
  std::vector<TensorType> key = types_of(batch.inputs);
  const std::vector<TensorType> targets = types_of(batch.targets);
  key.insert(key.end(), targets.begin(), targets.end());
  return key;
}

/// The step after which the buffer of an output holds its value.
int last_writer(const Program& program, int buffer) {
  const auto root = [&](int b) { return program.buffers()[static_cast<size_t>(b)].root; };
  for (int s = static_cast<int>(program.steps().size()) - 1; s >= 0; --s) {
    for (const int output : program.steps()[static_cast<size_t>(s)].outputs) {
      if (output >= 0 && root(output) == root(buffer)) return s;
    }
  }
  return -1;
}

int64_t row_size(const Variables& variables, size_t variable) {
  const Shape& shape = variables.type(variable).shape;
  return shape.rank() == 0 ? 1 : shape.num_elements(1, shape.rank());
}

std::vector<TrainedVariable> trained_by(const Program& program, const std::vector<std::string>& factored) {
  std::vector<GradientSlot> slots = program.gradients();
  std::stable_sort(slots.begin(), slots.end(),
                   [](const GradientSlot& a, const GradientSlot& b) { return a.ready_step < b.ready_step; });
  std::vector<TrainedVariable> result;
  for (const GradientSlot& slot : slots) {
    const size_t floats = program.variables().layout(slot.variable).bytes() / sizeof(float);
    result.push_back({slot.variable, floats, slot.sparse, row_size(program.variables(), slot.variable)});
  }
  for (const std::string& name : factored) {
    const size_t variable = program.variables().index(name);
    const size_t floats = program.variables().layout(variable).bytes() / sizeof(float);
    result.push_back({variable, floats, false, row_size(program.variables(), variable)});
  }
  return result;
}

}  // namespace

struct TrainingStep::Compiled {
  std::vector<TensorType> key;
  std::shared_ptr<Program> program;
  std::unique_ptr<Session> session;
  size_t loss_output = 0;
  /// The loss is known before the first gradient is announced, so that nothing is updated from a loss that is NaN.
  bool loss_comes_first = false;
  /// Parameters whose gradients come as two factors each, which follow the loss among the outputs.
  std::vector<std::string> factored;
};

TrainingStep::TrainingStep(Model& model, Loss loss, optim::Optimizer& optimizer, const StepOptions& options)
    : model_(model), loss_(std::move(loss)), optimizer_(optimizer), options_(options) {
  model.impl().free_batch();
  TW_REQUIRE(options.accumulate >= 1, "accumulate must be at least 1, got ", options.accumulate);
  TW_REQUIRE(options.clip_norm >= 0, "clip_norm must not be negative, got ", options.clip_norm);
}

TrainingStep::~TrainingStep() = default;

std::unique_ptr<TrainingStep::Compiled> TrainingStep::compile(const data::Batch& batch) {
  Model::Impl& model = model_.impl();
  model.release_layouts();
  std::unique_ptr<Graph> graph = specialize(*model.graph, types_of(batch.inputs), nullptr,
                                            [&](const Value* weight) { return model.content(weight); });
  std::vector<Value*> targets;
  for (size_t i = 0; i < batch.targets.size(); ++i) {
    targets.push_back(graph->input("target." + std::to_string(i), batch.targets[i].type()));
  }
  Value* loss = loss_(graph->outputs(), targets);
  TW_REQUIRE(loss != nullptr && &loss->graph() == graph.get(), "the loss must be built from the values it is given");
  TW_REQUIRE(loss->type().shape.num_elements() == 1 && loss->dtype() == DType::kF32,
             "the loss must be one f32 element, got ", loss->type(), ": reduce it to its mean");
  auto result = std::make_unique<Compiled>();
  result->key = key_of(batch);
  result->loss_output = graph->outputs().size();
  graph->mark_output(loss);
  const std::vector<std::string> frozen = freeze_by_groups(*graph);
  prepare_for_training(*graph, loss, usable_precision(options_.precision));
  if (options_.scheme != nullptr && options_.scheme->takes_factors()) result->factored = factor_gradients(*graph);
  CompileOptions compile;
  compile.threads = options_.threads;
  compile.math = options_.math;
  compile.tuning = options_.tuning;
  compile.training = true;
  compile.keep_gradients =
      (options_.clip_norm > 0 && options_.accumulate == 1) ||
      (options_.scheme != nullptr && options_.scheme->gradient_path() == GradientPath::kHandedOverInPlace);
  result->program = Program::compile(std::move(graph), model.variables, compile);
  const int loss_step = last_writer(*result->program, result->program->outputs()[result->loss_output]);
  const auto& slots = result->program->gradients();
  TW_REQUIRE(!slots.empty() || !result->factored.empty(),
             "nothing to train: the loss depends on no parameter that is not frozen");
  result->loss_comes_first =
      std::all_of(slots.begin(), slots.end(), [&](const GradientSlot& slot) { return slot.ready_step >= loss_step; });
  register_parameters(*result, frozen);
  trained_ = trained_by(*result->program, result->factored);
  return result;
}

std::vector<std::string> TrainingStep::freeze_by_groups(Graph& graph) const {
  std::vector<std::string> frozen;
  for (Value* parameter : graph.parameters()) {
    if (!parameter->trainable() || !optimizer_.settings_of(parameter->name()).frozen) continue;
    parameter->set_trainable(false);
    frozen.push_back(parameter->name());
  }
  return frozen;
}

void TrainingStep::register_parameters(const Compiled& compiled, const std::vector<std::string>& frozen) {
  const Program& program = *compiled.program;
  const Variables& variables = program.variables();
  optimizer_index_.resize(variables.size(), -1);
  const bool first = optimizer_.num_parameters() == 0;
  for (const GradientSlot& slot : program.gradients()) register_parameter(variables, slot.variable, slot.sparse);
  for (const std::vector<std::string>& names : {compiled.factored, frozen}) {
    for (const std::string& name : names) register_parameter(variables, variables.index(name), false);
  }
  if (first) optimizer_.check_groups();
}

void TrainingStep::register_parameter(const Variables& variables, size_t variable, bool sparse) {
  int& index = optimizer_index_[variable];
  if (index >= 0) return;
  const Layout& layout = variables.layout(variable);
  TW_REQUIRE(layout.dtype() == DType::kF32, "parameter '", variables.name(variable), "' is ", name_of(layout.dtype()),
             "; only f32 can be trained");
  TW_REQUIRE(!sparse || layout.is_plain(), "parameter '", variables.name(variable),
             "' has a sparse gradient but lies in layout ", layout.to_string());
  index = static_cast<int>(
      optimizer_.add_parameter(variables.name(variable), static_cast<int64_t>(layout.bytes() / sizeof(float))));
}

void TrainingStep::hand_over_factors(const Compiled& compiled, std::vector<Tensor>& outputs, double weight) {
  const auto as_floats = [](const Tensor& tensor) {
    return std::span<const float>(tensor.data<float>(), static_cast<size_t>(tensor.num_elements()));
  };
  size_t next = compiled.loss_output + 1;
  for (const std::string& name : compiled.factored) {
    const Tensor &left = outputs[next], &right = outputs[next + 1];
    next += 2;
    const size_t variable = model_.impl().variables->index(name);
    const auto rows = static_cast<size_t>(left.num_elements() / left.shape()[-1]);
    options_.scheme->add_factors({variable, rows, as_floats(left), as_floats(right)}, weight);
  }
  outputs.resize(compiled.loss_output + 1);
}

TrainingStep::Compiled& TrainingStep::compiled_for(const data::Batch& batch) {
  Model::Impl& model = model_.impl();
  if (trainable_version_ != model.trainable_version || frozen_version_ != optimizer_.frozen_version())
    compiled_.clear();
  trainable_version_ = model.trainable_version;
  frozen_version_ = optimizer_.frozen_version();
  const std::vector<TensorType> key = key_of(batch);
  const auto found = std::find_if(compiled_.begin(), compiled_.end(), [&](const auto& c) { return c->key == key; });
  if (found != compiled_.end()) {
    compiled_.splice(compiled_.begin(), compiled_, found);
  } else {
    compiled_.push_front(compile(batch));
    if (compiled_.size() > kMaxPrograms) compiled_.pop_back();
  }
  return *compiled_.front();
}

Session& TrainingStep::session_of(Compiled& compiled) {
  if (compiled.session != nullptr) return *compiled.session;
  size_t bytes = compiled.program->arena_bytes();
  for (const auto& other : compiled_) {
    if (other->session != nullptr) bytes += other->program->arena_bytes();
    if (bytes > kMaxArenaBytes) other->session.reset();
  }
  compiled.session = std::make_unique<Session>(compiled.program);
  if (options_.profile) compiled.session->enable_profile();
  return *compiled.session;
}

void TrainingStep::prepare(const data::Batch& batch) {
  const std::unique_lock<std::shared_mutex> lock(model_.impl().weights_mutex);
  compiled_for(batch);
}

std::string TrainingStep::explain() const {
  if (compiled_.empty()) return "nothing was compiled yet\n";
  // The program that ran most recently may be that of a smaller last batch.
  const auto largest = std::max_element(compiled_.begin(), compiled_.end(), [](const auto& a, const auto& b) {
    return a->program->arena_bytes() < b->program->arena_bytes();
  });
  const Compiled& compiled = **largest;
  if (compiled.session == nullptr || !options_.profile) return compiled.program->explain();
  return compiled.program->explain(compiled.session->step_milliseconds());
}

void TrainingStep::apply(const GradientView& view) {
  Variables& variables = *model_.impl().variables;
  const auto index = static_cast<size_t>(optimizer_index_[view.variable]);
  const std::span<float> value(static_cast<float*>(variables.data(view.variable)),
                               variables.layout(view.variable).bytes() / sizeof(float));
  if (view.dense != nullptr) {
    optimizer_.update(index, value, {view.dense, view.num_floats});
    return;
  }
  const int64_t size = row_size(variables, view.variable);
  optimizer_.update_rows(index, value, size, {view.indices, static_cast<size_t>(view.num_rows)},
                         {view.rows, static_cast<size_t>(view.num_rows * size)});
}

double TrainingStep::total_norm_squared(const std::vector<GradientView>& views) const {
  double total = 0;
  for (const GradientView& view : views) {
    total += norm_squared(view, row_size(*model_.impl().variables, view.variable));
  }
  return total;
}

void TrainingStep::apply_all(const Update& update) {
  double scale = update.scale;
  if (options_.clip_norm > 0) {
    const double squares = update.norm_squared ? *update.norm_squared : total_norm_squared(update.gradients);
    const double total = squares * scale * scale;
    if (!std::isfinite(total)) throw NonFiniteLoss("the norm of the gradients is not finite");
    scale *= optim::norm_clip_scale(total, options_.clip_norm);
  }
  optimizer_.set_gradient_scale(scale);
  for (const GradientView& view : update.gradients) apply(view);
  optimizer_.set_gradient_scale(1.0);
}

void TrainingStep::on_gradient(Run& run, const GradientView& view) {
  if (!run.loss_checked && run.compiled.loss_comes_first) check_loss(run);
  if (options_.accumulate > 1) {
    sums_.add(view, row_size(*model_.impl().variables, view.variable), run.weight);
  } else if (options_.clip_norm > 0) {
    run.kept.push_back(view);
    // The last one: every parameter has had its last reader.
    if (run.kept.size() == run.compiled.program->gradients().size()) apply_all({run.kept, 1.0, std::nullopt});
  } else {
    apply(view);
  }
}

void TrainingStep::check_loss(Run& run) {
  const float loss = *static_cast<const float*>(run.compiled.session->output_data(run.compiled.loss_output));
  if (!std::isfinite(loss)) throw NonFiniteLoss("the loss is " + std::to_string(loss));
  run.loss_checked = true;
}

StepResult TrainingStep::run(const data::Batch& batch, const StepInput& input) {
  const std::unique_lock<std::shared_mutex> lock(model_.impl().weights_mutex);
  optimizer_.begin_step(input.learning_rate);
  StepResult result = options_.scheme != nullptr ? run_in_group(batch, input) : run_alone(batch, input);
  model_.impl().variables->touch();
  return result;
}

std::vector<Tensor> TrainingStep::run_program(Run& run, const data::Batch& batch, const GradientCallback& on_gradient) {
  Session& session = session_of(run.compiled);
  // Workers draw different numbers for rows of the same place.
  const auto worker = options_.scheme != nullptr ? static_cast<uint64_t>(options_.scheme->share().part) : 0;
  session.set_step(options_.seed * 0x9E3779B97F4A7C15ULL + worker * 0xD1B54A32D192ED03ULL + runs_);
  std::vector<Tensor> inputs = batch.inputs;
  inputs.insert(inputs.end(), batch.targets.begin(), batch.targets.end());
  // Counted even if the loss turns out not to be finite: a batch that is skipped still uses up its random numbers.
  ++runs_;
  return session.run(inputs, on_gradient);
}

StepResult TrainingStep::run_alone(const data::Batch& batch, const StepInput& input) {
  Run run{compiled_for(batch), static_cast<double>(std::max<int64_t>(batch.size(), 1)), {}, false};
  StepResult result;
  result.outputs = run_program(run, batch, [&](const GradientView& view) { on_gradient(run, view); });
  check_loss(run);
  result.loss = result.outputs[run.compiled.loss_output].item();
  result.samples = batch.size();
  result.stop = input.stop;
  result.outputs.resize(run.compiled.loss_output);
  if (options_.accumulate == 1) {
    result.updated = true;
  } else {
    sums_.count(run.weight);
    if (sums_.batches() == options_.accumulate) result.updated = apply_sums();
  }
  return result;
}

bool TrainingStep::apply_sums() {
  if (sums_.batches() == 0) return false;
  try {
    apply_all({sums_.views(), 1.0 / sums_.total_weight(), std::nullopt});
  } catch (...) {
    sums_.clear();
    throw;
  }
  sums_.clear();
  return true;
}

bool TrainingStep::flush(double learning_rate) {
  Model::Impl& model = model_.impl();
  const std::unique_lock<std::shared_mutex> lock(model.weights_mutex);
  optimizer_.begin_step(learning_rate);
  const bool applied = apply_sums();
  model.variables->touch();
  return applied;
}

}  // namespace thalweg
