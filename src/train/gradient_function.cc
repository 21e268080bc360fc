// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/gradient_function.h"

#include <algorithm>

#include "ops/ids.h"
#include "runtime/program_cache.h"
#include "runtime/specialize.h"
#include "thalweg/autodiff.h"

namespace thalweg {
namespace {

/// A program and which of the wanted gradients it gives: some inputs influence nothing.
struct Compiled {
  std::vector<TensorType> key;
  std::shared_ptr<SessionPool> sessions;
  std::vector<bool> given;
};

Value* dense_of(Graph& graph, const Gradient& gradient) {
  if (!gradient.is_sparse()) return gradient.dense;
  Value* zeros = graph.constant(Tensor::zeros(gradient.parameter->dtype(), gradient.parameter->shape()));
  return graph.add(op::kScatterRowsAdd, {zeros, gradient.indices, gradient.rows})->output();
}

/// Appends the gradients as further outputs, for inputs that come last: the gradients of the floating outputs.
std::vector<bool> append_gradients(Graph& graph, const std::vector<std::string>& wanted) {
  const std::vector<Value*> outputs = graph.outputs();
  std::vector<SeededOutput> seeded;
  for (Value* output : outputs) {
    if (!is_floating(output->dtype())) continue;
    seeded.push_back({output, graph.input("gradient." + std::to_string(seeded.size()), output->type())});
  }
  std::vector<Value*> targets;
  for (const std::string& name : wanted) targets.push_back(graph.find(name));
  std::vector<bool> given;
  for (const Gradient& gradient : differentiate(graph, seeded, targets)) {
    Value* dense = dense_of(graph, gradient);
    given.push_back(dense != nullptr);
    if (dense != nullptr) graph.mark_output(dense);
  }
  return given;
}

size_t count_floating(const std::vector<Value*>& values) {
  return static_cast<size_t>(
      std::count_if(values.begin(), values.end(), [](const Value* value) { return is_floating(value->dtype()); }));
}

}  // namespace

struct GradientFunction::Impl {
  std::shared_ptr<const Compiled> compiled_for(const std::vector<Tensor>& inputs);
  std::shared_ptr<const Compiled> compile(std::vector<TensorType> key) const;

  std::unique_ptr<Graph> graph;
  std::vector<std::string> wanted;
  InferenceOptions options;
  std::mutex mutex;
  /// The one used last comes first.
  std::list<std::shared_ptr<const Compiled>> programs;
};

std::shared_ptr<const Compiled> GradientFunction::Impl::compile(std::vector<TensorType> key) const {
  auto result = std::make_shared<Compiled>();
  std::unique_ptr<Graph> specialized = specialize(*graph, key);
  const Precision precision = usable_precision(options.precision.value_or(Precision::kF32));
  simplify(*specialized);
  fuse_for_training(*specialized);
  if (precision == Precision::kBF16) use_bf16(*specialized);
  const size_t early_outputs = specialized->outputs().size();
  const size_t late_inputs = count_floating(specialized->outputs());
  result->given = append_gradients(*specialized, wanted);
  simplify(*specialized);
  if (precision == Precision::kBF16) widen_weight_gradients(*specialized);
  fuse_gradient_sums(*specialized);
  CompileOptions compile;
  compile.threads = options.threads;
  compile.math = options.math;
  compile.tuning = options.tuning.value_or(Tuning::kFixed);
  compile.training = true;
  compile.late_inputs = late_inputs;
  compile.early_outputs = early_outputs;
  auto variables = std::make_shared<Variables>(*specialized);
  result->sessions =
      std::make_shared<SessionPool>(Program::compile(std::move(specialized), std::move(variables), compile));
  result->key = std::move(key);
  return result;
}

std::shared_ptr<const Compiled> GradientFunction::Impl::compiled_for(const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) TW_REQUIRE(inputs[i].defined(), "input ", i, " is an empty tensor");
  std::vector<TensorType> key = types_of(inputs);
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = std::find_if(programs.begin(), programs.end(), [&](const auto& p) { return p->key == key; });
  if (found != programs.end()) {
    programs.splice(programs.begin(), programs, found);
  } else {
    programs.push_front(compile(std::move(key)));
    if (programs.size() > static_cast<size_t>(options.max_programs)) programs.pop_back();
  }
  return programs.front();
}

struct GradientFunction::Run::Impl {
  std::shared_ptr<const Compiled> compiled;
  /// Null once the gradients were taken.
  std::unique_ptr<Session> session;
  std::vector<Tensor> outputs;
};

GradientFunction::Run::Run(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

GradientFunction::Run::~Run() {
  if (impl_->session != nullptr) impl_->compiled->sessions->give_back(std::move(impl_->session));
}

std::vector<Tensor> GradientFunction::Run::take_outputs() { return std::move(impl_->outputs); }

std::vector<Tensor> GradientFunction::Run::gradients(const std::vector<Tensor>& of_outputs) {
  TW_REQUIRE(impl_->session != nullptr,
             "the gradients of a run were asked for a second time: its memory is in use for something else. Run "
             "forward again");
  std::unique_ptr<Session> session = std::move(impl_->session);
  const std::vector<Tensor> found = session->finish(of_outputs);
  impl_->compiled->sessions->give_back(std::move(session));
  std::vector<Tensor> result;
  auto next = found.begin();
  for (const bool given : impl_->compiled->given) result.push_back(given ? *next++ : Tensor());
  return result;
}

GradientFunction::GradientFunction(std::unique_ptr<Graph> graph, std::vector<std::string> wanted,
                                   const InferenceOptions& options)
    : impl_(std::make_unique<Impl>()) {
  TW_REQUIRE(graph != nullptr && !graph->outputs().empty(), "a function needs a graph with an output");
  TW_REQUIRE(graph->parameters().empty() && graph->states().empty(), "graph '", graph->name(),
             "' has weights of its own: those of a function are inputs");
  TW_REQUIRE(options.max_programs > 0, "max_programs must be positive, got ", options.max_programs);
  for (const std::string& name : wanted) {
    const Value* input = graph->find(name);
    TW_REQUIRE(input != nullptr && input->kind() == Value::Kind::kInput && is_floating(input->dtype()), "graph '",
               graph->name(), "' has no input '", name, "' of a floating type to give the gradient of");
  }
  graph->verify();
  impl_->graph = std::move(graph);
  impl_->wanted = std::move(wanted);
  impl_->options = options;
}

GradientFunction::~GradientFunction() = default;

const Graph& GradientFunction::graph() const { return *impl_->graph; }

std::unique_ptr<GradientFunction::Run> GradientFunction::run(const std::vector<Tensor>& inputs, uint64_t seed) {
  auto run = std::make_unique<Run::Impl>();
  run->compiled = impl_->compiled_for(inputs);
  run->session = run->compiled->sessions->take();
  run->session->set_step(seed);
  run->outputs = run->session->begin(inputs);
  return std::unique_ptr<Run>(new Run(std::move(run)));
}

}  // namespace thalweg
