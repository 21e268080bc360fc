// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "infer/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/limits.h"
#include "base/text.h"
#include "infer/host_op.h"

namespace thalweg {

/// Stages that may come at one place in a run, the most recently used first.
struct Executor::StageCache {
  std::mutex mutex;
  std::list<std::shared_ptr<Stage>> stages;
};

/// A compiled part of the graph and the nodes executed after it, for values of given types and, where shapes depend on
/// them, contents.
struct Executor::Stage {
  std::vector<std::string> inputs;
  std::vector<TensorType> types;
  std::vector<std::pair<std::string, Tensor>> contents;
  std::shared_ptr<SessionPool> pool;  // null if there is nothing to compute
  std::vector<std::string> outputs;
  std::vector<std::pair<std::string, Tensor>> known;
  std::vector<size_t> host_nodes;
  std::vector<bool> done;
  StageCache next;

  bool fits(const Environment& environment) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (environment.at(inputs[i]).type() != types[i]) return false;
    }
    return std::all_of(contents.begin(), contents.end(), [&](const auto& content) {
      const Tensor& given = environment.at(content.first);
      return given.type() == content.second.type() &&
             std::memcmp(given.raw(), content.second.raw(), given.num_bytes()) == 0;
    });
  }
};

Executor::Executor(ExecutionContext& context, const onnx::GraphProto& graph)
    : context_(context), plan_(graph), root_(std::make_unique<StageCache>()) {}

Executor::~Executor() = default;

std::shared_ptr<Executor::Stage> Executor::compile(const Environment& environment, const std::vector<bool>& done) {
  Trace trace = Tracer(*context_.model, plan_, *context_.variables, environment, done).run();
  auto stage = std::make_shared<Stage>();
  stage->inputs = std::move(trace.inputs);
  for (const std::string& name : stage->inputs) stage->types.push_back(environment.at(name).type());
  for (const std::string& name : trace.contents) stage->contents.emplace_back(name, environment.at(name).clone());
  stage->outputs = std::move(trace.outputs);
  stage->known = std::move(trace.known);
  stage->host_nodes = std::move(trace.host_nodes);
  stage->done = std::move(trace.done);
  if (stage->outputs.empty()) return stage;
  prepare_for_inference(*trace.graph, usable_precision(context_.precision));
  CompileOptions options;
  options.threads = context_.options.threads;
  options.math = context_.options.math;
  options.tuning = context_.options.tuning;
  const std::unique_lock<std::shared_mutex> lock(context_.weights_mutex);
  stage->pool = std::make_shared<SessionPool>(Program::compile(std::move(trace.graph), context_.variables, options));
  return stage;
}

std::shared_ptr<Executor::Stage> Executor::stage_for(StageCache& cache, const Environment& environment,
                                                     const std::vector<bool>& done) {
  // Held while compiling: another thread with the same shapes waits for the result rather than compile it again.
  const std::lock_guard<std::mutex> lock(cache.mutex);
  const auto found = std::find_if(cache.stages.begin(), cache.stages.end(),
                                  [&](const auto& stage) { return stage->fits(environment); });
  if (found != cache.stages.end()) {
    cache.stages.splice(cache.stages.begin(), cache.stages, found);
    return cache.stages.front();
  }
  cache.stages.push_front(compile(environment, done));
  while (cache.stages.size() > static_cast<size_t>(context_.options.max_programs)) cache.stages.pop_back();
  return cache.stages.front();
}

std::vector<Tensor> Executor::run(const std::vector<Tensor>& inputs, const Environment& outer,
                                  std::vector<ProgramProfile>* profile) {
  Environment environment;
  for (size_t i = 0; i < plan_.inputs.size(); ++i) environment[plan_.inputs[i]->name] = inputs[i];
  for (const std::string& name : plan_.captures) {
    const auto found = outer.find(name);
    TW_REQUIRE(found != outer.end(), context_.model->name, ": nothing makes the value ", printable(name));
    environment[name] = found->second;
  }
  std::vector<bool> done(plan_.graph.node.size(), false);
  StageCache* cache = root_.get();
  std::vector<std::shared_ptr<Stage>> path;  // keeps what `cache` points into alive
  const auto complete = [&] {
    return std::all_of(plan_.graph.output.begin(), plan_.graph.output.end(),
                       [&](const auto& info) { return find(info.name, environment).defined(); });
  };
  while (!complete()) {
    require_time();
    path.push_back(stage_for(*cache, environment, done));
    const Stage& stage = *path.back();
    run_program(stage, environment, profile);
    for (const size_t node : stage.host_nodes) run_host_node(node, environment, profile);
    done = stage.done;
    cache = &path.back()->next;
  }
  std::vector<Tensor> results;
  for (const onnx::ValueInfoProto& info : plan_.graph.output) results.push_back(find(info.name, environment));
  return results;
}

void Executor::run_program(const Stage& stage, Environment& environment, std::vector<ProgramProfile>* profile) {
  for (const auto& [name, tensor] : stage.known) environment[name] = tensor;
  if (stage.pool == nullptr) return;
  std::vector<Tensor> inputs;
  for (const std::string& name : stage.inputs) inputs.push_back(environment.at(name));
  const std::shared_lock<std::shared_mutex> lock(context_.weights_mutex);
  const std::vector<Tensor> results = stage.pool->run(inputs);
  for (size_t i = 0; i < results.size(); ++i) environment[stage.outputs[i]] = results[i];
  if (profile == nullptr) return;
  constexpr int kTimedRuns = 3;
  Session session(stage.pool->program());
  session.run(inputs);
  session.enable_profile();
  for (int i = 0; i < kTimedRuns; ++i) session.run(inputs);
  profile->push_back(stage.pool->program()->profile(session.step_milliseconds()));
}

Tensor Executor::find(const std::string& name, const Environment& environment) {
  const auto given = environment.find(name);
  if (given != environment.end()) return given->second;
  const auto initializer = plan_.initializers.find(name);
  if (initializer == plan_.initializers.end()) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  Tensor& tensor = initializers_[name];
  if (!tensor.defined()) tensor = context_.model->tensor(*initializer->second);
  return tensor;
}

Executor& Executor::body_executor(const onnx::GraphProto& body) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& executor = bodies_[&body];
  if (executor == nullptr) executor = std::make_unique<Executor>(context_, body);
  return *executor;
}

void Executor::run_host_node(size_t index, Environment& environment, std::vector<ProgramProfile>* profile) {
  const onnx::NodeProto& node = plan_.graph.node[index];
  std::vector<Tensor> inputs;
  for (const std::string& name : node.input) inputs.push_back(name.empty() ? Tensor() : find(name, environment));
  Environment outer;
  for (const std::string& name : plan_.reads[index]) outer[name] = find(name, environment);
  const BodyRunner run_body = [&](const onnx::GraphProto& body, std::vector<Tensor> body_inputs) {
    Executor& executor = body_executor(body);
    TW_REQUIRE(body_inputs.size() == executor.plan().inputs.size(), "its body takes ", executor.plan().inputs.size(),
               " inputs, not ", body_inputs.size());
    return executor.run(body_inputs, outer, profile);
  };
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Tensor> results;
  try {
    results = (*find_host_op(node.domain, node.op_type))({*context_.model, node, std::move(inputs), run_body});
  } catch (const Error& error) {
    raise(context_.model->name, ": ", onnx::describe(node), ": ", error.what());
  }
  for (size_t i = 0; i < node.output.size(); ++i) {
    if (node.output[i].empty()) continue;
    TW_REQUIRE(i < results.size() && results[i].defined(), context_.model->name, ": ", onnx::describe(node),
               ": its output ", i, " is not supported");
    environment[node.output[i]] = results[i];
  }
  if (profile == nullptr) return;
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
  StepProfile step;
  step.op = node.op_type;
  step.name = node.name;
  step.kernel = "executed by itself";
  for (const Tensor& result : results) {
    if (!result.defined()) continue;
    step.outputs.push_back("plain " + std::string(name_of(result.dtype())) + " " + result.shape().to_string());
    step.output_bytes += result.num_bytes();
  }
  step.milliseconds = elapsed.count();
  profile->push_back({onnx::describe(node), 1, 0, 0, {}, {step}});
}

}  // namespace thalweg
