// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "train/evaluator.h"

#include <algorithm>

#include "model/model_impl.h"
#include "runtime/specialize.h"
#include "thalweg/input_error.h"

namespace thalweg {
namespace {

constexpr size_t kMaxLossPrograms = 4;

}  // namespace

Evaluator::Evaluator(Model& model, Loss loss, const EvaluatorOptions& options)
    : model_(model), loss_(std::move(loss)), options_(options), programs_(kMaxLossPrograms) {
  model.impl().free_batch();
}

std::shared_ptr<SessionPool> Evaluator::loss_program(const std::vector<Tensor>& outputs,
                                                     const std::vector<Tensor>& targets) {
  std::vector<TensorType> key = types_of(outputs);
  const std::vector<TensorType> target_types = types_of(targets);
  key.insert(key.end(), target_types.begin(), target_types.end());
  if (auto pool = programs_.find(key)) return pool;
  auto graph = std::make_unique<Graph>("loss");
  std::vector<Value*> output_values, target_values;
  for (const Tensor& output : outputs) {
    output_values.push_back(graph->input("output." + std::to_string(output_values.size()), output.type()));
  }
  for (const Tensor& target : targets) {
    target_values.push_back(graph->input("target." + std::to_string(target_values.size()), target.type()));
  }
  graph->mark_output(loss_(output_values, target_values));
  prepare_for_inference(*graph);
  auto variables = std::make_shared<Variables>(*graph);
  CompileOptions options;
  options.threads = options_.threads;
  auto pool = std::make_shared<SessionPool>(Program::compile(std::move(graph), std::move(variables), options));
  programs_.insert(key, pool);
  return pool;
}

double Evaluator::loss_of(const std::vector<Tensor>& outputs, const std::vector<Tensor>& targets) {
  std::vector<Tensor> inputs = outputs;
  inputs.insert(inputs.end(), targets.begin(), targets.end());
  return loss_program(outputs, targets)->run(inputs).at(0).item();
}

void Evaluator::prepare(const data::Dataset& data, const std::vector<std::shared_ptr<metrics::Metric>>& metrics) const {
  for (const auto& metric : metrics) {
    TW_REQUIRE(metric->output() < model_.graph().outputs().size(), "metric ", metric->name(), " is about output ",
               metric->output(), ", but the model has ", model_.graph().outputs().size());
    TW_REQUIRE(metric->target() < data.target_types().size(), "metric ", metric->name(), " is about target ",
               metric->target(), ", but the data has ", data.target_types().size());
    metric->reset();
  }
}

void Evaluator::require_fit(const data::Dataset& data,
                            const std::vector<std::shared_ptr<metrics::Metric>>& metrics) const {
  try {
    prepare(data, metrics);
    const auto batch_of = [&](TensorType type) {
      type.shape[0] = std::min(options_.batch_size, data.size());
      return type;
    };
    std::vector<TensorType> inputs;
    for (const TensorType& type : data.input_types()) inputs.push_back(batch_of(type));
    const Model::Impl& model = model_.impl();
    const std::unique_ptr<Graph> graph =
        specialize(*model.graph, inputs, nullptr, [&](const Value* weight) { return model.content(weight); });
    std::vector<Value*> targets;
    for (const TensorType& type : data.target_types()) {
      targets.push_back(graph->input("target." + std::to_string(targets.size()), batch_of(type)));
    }
    const std::vector<Value*> outputs = graph->outputs();
    loss_(outputs, targets);
    for (const auto& metric : metrics) {
      const TensorType output = outputs[metric->output()]->type();
      const TensorType target = targets[metric->target()]->type();
      if (!output.shape.is_static()) continue;
      metric->add(Tensor::zeros(output.dtype, output.shape), Tensor::zeros(target.dtype, target.shape));
      metric->reset();
    }
  } catch (const Error& error) {
    raise_input_error("the data to validate on do not fit: ", error.what());
  }
}

Evaluation Evaluator::run(const data::Dataset& data, const std::vector<std::shared_ptr<metrics::Metric>>& metrics,
                          const std::atomic<bool>& stop, const Watcher& watcher) {
  prepare(data, metrics);
  const data::BatchSampler sampler(data.size(), {.batch_size = options_.batch_size, .shuffle = false});
  data::LoaderOptions reading = options_.reading;
  reading.max_batches = sampler.batches_per_epoch();
  reading.stopping = [&] {
    watcher.while_waiting();
    return stop.load();
  };
  data::Loader loader(data, sampler, reading);
  double loss_sum = 0;
  int64_t samples = 0;
  data::LoadedBatch loaded;
  while (!(stop.load() && samples > 0) && loader.next(loaded)) {
    if (loaded.batch.size() == 0) continue;  // none of its samples could be read
    const std::vector<Tensor> outputs = model_.predict(loaded.batch.inputs);
    loss_sum += loss_of(outputs, loaded.batch.targets) * static_cast<double>(loaded.batch.size());
    samples += loaded.batch.size();
    for (const auto& metric : metrics) metric->add(outputs[metric->output()], loaded.batch.targets[metric->target()]);
    watcher.after_batch();
  }
  Evaluation result{{{"loss", loss_sum / static_cast<double>(samples)}}, loader.skipped()};
  for (const auto& metric : metrics) result.scores[metric->name()] = metric->value();
  return result;
}

}  // namespace thalweg
