// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/graph_runner.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <list>

#include "base/limits.h"
#include "base/text.h"
#include "runtime/compile_for_inference.h"
#include "runtime/later_tuning.h"
#include "runtime/segment_builder.h"
#include "runtime/tuner.h"
#include "thalweg/stored_types.h"

namespace thalweg {

/// Segments that may come at one place in a run, the most recently used first.
struct GraphRunner::SegmentCache {
  std::mutex mutex;
  std::list<std::shared_ptr<Segment>> segments;

  /// Null if none fits.
  std::shared_ptr<Segment> find(const Contents& contents);
  /// Forgets the least recently used ones while there are more than `count`, and of more than `steps` together.
  void shrink(size_t count, size_t steps);
};

/// A compiled part of the graph and the nodes executed after it, for values of given types and, where shapes depend on
/// them, contents. Values are numbers.
struct GraphRunner::Segment {
  std::vector<size_t> inputs;
  std::vector<TensorType> types;
  std::vector<std::pair<size_t, Tensor>> contents;
  std::shared_ptr<SessionPool> pool;  // null if there is nothing to compute
  std::unique_ptr<LaterTuning> tuning;
  std::vector<size_t> outputs;
  std::vector<std::pair<size_t, Tensor>> known;
  std::vector<size_t> host_nodes;
  std::vector<bool> done;
  SegmentCache next;

  bool fits(const Contents& given) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (given[inputs[i]].type() != types[i]) return false;
    }
    return std::all_of(contents.begin(), contents.end(), [&](const auto& content) {
      const Tensor& value = given[content.first];
      return value.type() == content.second.type() &&
             std::memcmp(value.raw(), content.second.raw(), value.num_bytes()) == 0;
    });
  }
};

namespace {

/// A loop whose values grow asks for the same shapes in each run, in the same order: with room for fewer, it would find
/// none of its programs again. A step takes some kilobytes, so this is some ten megabytes.
constexpr size_t kKeptStepsOfBodies = 4096;

size_t number_of(const Value* value) { return static_cast<size_t>(value->id()); }

std::vector<size_t> numbers_of(const std::vector<const Value*>& values) {
  std::vector<size_t> numbers;
  for (const Value* value : values) numbers.push_back(number_of(value));
  return numbers;
}

StepProfile host_step(const Node& node, const std::vector<Tensor>& results, double milliseconds) {
  StepProfile step;
  step.op = node.op_name();
  step.name = node.name();
  step.kernel = "executed by itself";
  for (const Tensor& result : results) {
    if (!result.defined()) continue;
    step.outputs.push_back("plain " + std::string(name_of(result.dtype())) + " " + result.shape().to_string());
    if (!stored::is_object(result.dtype())) step.output_bytes += result.num_bytes();
  }
  step.milliseconds = milliseconds;
  return step;
}

}  // namespace

GraphRunner::GraphRunner(const Graph& graph, RunnerContext& context, size_t kept_steps)
    : graph_(graph), context_(context), kept_steps_(kept_steps), root_(std::make_unique<SegmentCache>()) {
  const auto count = [&](const Value* value) { num_values_ = std::max(num_values_, number_of(value) + 1); };
  for (const auto* group : {&graph.inputs(), &graph.parameters(), &graph.states(), &graph.constants()}) {
    std::for_each(group->begin(), group->end(), count);
  }
  for (const auto& node : graph.nodes()) {
    std::for_each(node->outputs().begin(), node->outputs().end(), count);
  }
}

GraphRunner::~GraphRunner() = default;

void GraphRunner::clear() {
  {
    const std::lock_guard<std::mutex> lock(root_->mutex);
    root_->segments.clear();
  }
  {
    const std::lock_guard<std::mutex> lock(views_mutex_);
    views_.clear();
  }
  const std::lock_guard<std::mutex> lock(bodies_mutex_);
  for (const auto& [body, runner] : bodies_) runner->clear();
}

size_t GraphRunner::num_compiled() const {
  const std::lock_guard<std::mutex> lock(root_->mutex);
  return root_->segments.size();
}

std::shared_ptr<GraphRunner::Segment> GraphRunner::compile(const Contents& contents, const std::vector<bool>& done) {
  SegmentPlan plan = SegmentBuilder(graph_, context_.name, *context_.variables, contents, done).build();
  auto segment = std::make_shared<Segment>();
  segment->inputs = numbers_of(plan.inputs);
  for (const size_t input : segment->inputs) segment->types.push_back(contents[input].type());
  for (const Value* value : plan.contents) {
    segment->contents.emplace_back(number_of(value), contents[number_of(value)].clone());
  }
  segment->outputs = numbers_of(plan.outputs);
  for (auto& [value, content] : plan.known) segment->known.emplace_back(number_of(value), std::move(content));
  segment->host_nodes = std::move(plan.host_nodes);
  segment->done = std::move(plan.done);
  if (plan.graph == nullptr) return segment;
  CompileOptions options;
  options.threads = context_.options.threads;
  options.math = context_.options.math;
  options.tuning = context_.options.tuning;
  options.tune_later = options.tuning == Tuning::kMeasured;
  std::vector<Tensor> inputs;
  for (const size_t input : segment->inputs) inputs.push_back(contents[input]);
  const auto program = compile_for_inference(std::move(plan.graph), context_.variables,
                                             usable_precision(context_.options.precision), options, inputs);
  segment->pool = std::make_shared<SessionPool>(program, context_.arenas);
  if (!program->unmeasured().empty()) segment->tuning = std::make_unique<LaterTuning>(program, Tuner::for_this_cpu());
  return segment;
}

void GraphRunner::compile_anew(Segment& segment) {
  const auto begin = std::chrono::steady_clock::now();
  const std::unique_lock<std::shared_mutex> weights(context_.weights_mutex);
  segment.tuning = nullptr;
  const std::shared_ptr<Program> program = segment.pool->program();
  // Forgotten meanwhile, with all that was compiled for other weights.
  if (&program->variables() != context_.variables.get()) return;
  try {
    // It takes over the weights that stay as they are.
    segment.pool = std::make_shared<SessionPool>(
        Program::compile(program->graph().clone(), context_.variables, program->options()), context_.arenas);
  } catch (const std::exception&) {
    // Such as too little memory. What there is goes on to work.
  }
  extend_time(std::chrono::steady_clock::now() - begin);
}

std::shared_ptr<GraphRunner::Segment> GraphRunner::SegmentCache::find(const Contents& contents) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found =
      std::find_if(segments.begin(), segments.end(), [&](const auto& segment) { return segment->fits(contents); });
  if (found == segments.end()) return nullptr;
  segments.splice(segments.begin(), segments, found);
  return segments.front();
}

void GraphRunner::SegmentCache::shrink(size_t count, size_t steps) {
  // One that has nothing to compute counts as well.
  const auto size = [](const Segment& segment) {
    return 1 + (segment.pool != nullptr ? segment.pool->program()->steps().size() : 0);
  };
  size_t present = 0;
  for (const auto& segment : segments) present += size(*segment);
  for (; segments.size() > count && present > steps; segments.pop_back()) present -= size(*segments.back());
}

std::shared_ptr<GraphRunner::Segment> GraphRunner::segment_for(SegmentCache& cache, const Contents& contents,
                                                               const std::vector<bool>& done) {
  if (auto segment = cache.find(contents)) return segment;
  const std::unique_lock<std::shared_mutex> weights(context_.weights_mutex);
  // Another thread may have compiled it while this one waited.
  if (auto segment = cache.find(contents)) return segment;
  std::shared_ptr<Segment> segment = compile(contents, done);
  const std::lock_guard<std::mutex> lock(cache.mutex);
  cache.segments.push_front(segment);
  cache.shrink(static_cast<size_t>(context_.options.max_programs), kept_steps_);
  return segment;
}

Tensor GraphRunner::find(const Value* value, const Contents& contents) const {
  const Tensor& given = contents[number_of(value)];
  if (given.defined() || value->kind() == Value::Kind::kComputed || value->kind() == Value::Kind::kInput) return given;
  if (value->kind() == Value::Kind::kConstant) return value->data();
  const std::shared_lock<std::shared_mutex> lock(context_.weights_mutex);
  const size_t index = context_.variables->index(value->name());
  if (!context_.variables->stored_elsewhere(index)) return context_.variables->read(index);
  const std::lock_guard<std::mutex> views(views_mutex_);
  Tensor& view = views_[value];
  if (!view.defined()) view = context_.variables->view(index);
  return view;
}

bool GraphRunner::complete(const Contents& contents) const {
  return std::all_of(graph_.outputs().begin(), graph_.outputs().end(), [&](const Value* output) {
    return output->kind() != Value::Kind::kComputed || contents[number_of(output)].defined();
  });
}

std::vector<Tensor> GraphRunner::run(const std::vector<Tensor>& inputs, std::vector<ProgramProfile>* profile) {
  // Also for a body that has nothing to compute: a loop may run it for ever.
  require_time();
  Contents contents(num_values_);
  for (size_t i = 0; i < inputs.size(); ++i) contents[number_of(graph_.inputs()[i])] = inputs[i];
  std::vector<bool> done(graph_.nodes().size(), false);
  SegmentCache* cache = root_.get();
  std::vector<std::shared_ptr<Segment>> path;  // keeps what `cache` points into alive
  while (!complete(contents)) {
    require_time();
    path.push_back(segment_for(*cache, contents, done));
    Segment& segment = *path.back();
    run_segment(segment, contents, profile);
    for (const size_t node : segment.host_nodes) run_host_node(*graph_.nodes()[node], contents, profile);
    done = segment.done;
    cache = &path.back()->next;
  }
  std::vector<Tensor> results;
  for (const Value* output : graph_.outputs()) {
    results.push_back(find(output, contents));
    // Whoever gets it may write to it.
    if (output->kind() == Value::Kind::kParameter) results.back() = results.back().clone();
  }
  return results;
}

void GraphRunner::run_segment(Segment& segment, Contents& contents, std::vector<ProgramProfile>* profile) {
  for (const auto& [value, tensor] : segment.known) contents[value] = tensor;
  if (segment.outputs.empty()) return;
  std::vector<Tensor> inputs;
  for (const size_t input : segment.inputs) inputs.push_back(contents[input]);
  if (run_program(segment, inputs, contents, profile)) compile_anew(segment);
}

bool GraphRunner::run_program(const Segment& segment, const std::vector<Tensor>& inputs, Contents& contents,
                              std::vector<ProgramProfile>* profile) {
  const std::shared_lock<std::shared_mutex> lock(context_.weights_mutex);
  std::unique_ptr<Session> session = segment.pool->take();
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Tensor> results = session->run(inputs);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  for (size_t i = 0; i < results.size(); ++i) contents[segment.outputs[i]] = std::move(results[i]);
  if (profile != nullptr) {
    constexpr int kTimedRuns = 3;
    Session timed(segment.pool->program());
    timed.run(inputs);
    timed.enable_profile();
    for (int i = 0; i < kTimedRuns; ++i) timed.run(inputs);
    profile->push_back(segment.pool->program()->profile(timed.step_milliseconds()));
  }
  const bool better = segment.tuning != nullptr && segment.tuning->after_run(elapsed.count(), session->idle_memory());
  segment.pool->give_back(std::move(session));
  return better;
}

GraphRunner& GraphRunner::body_runner(const Graph& body) {
  const std::lock_guard<std::mutex> lock(bodies_mutex_);
  auto& runner = bodies_[&body];
  if (runner == nullptr) runner = std::make_unique<GraphRunner>(body, context_, kKeptStepsOfBodies);
  return *runner;
}

HostMemory& GraphRunner::memory_of(const Node& node) {
  const std::lock_guard<std::mutex> lock(memories_mutex_);
  return memories_[&node];
}

void GraphRunner::run_host_node(const Node& node, Contents& contents, std::vector<ProgramProfile>* profile) {
  std::vector<Tensor> inputs;
  for (const Value* input : node.inputs()) inputs.push_back(input != nullptr ? find(input, contents) : Tensor());
  const BodyRunner run_body = [&](const std::string& attribute, std::vector<Tensor> given) {
    const std::shared_ptr<Graph> body = node.attrs().graph(attribute);
    TW_REQUIRE(body != nullptr, "attribute '", attribute, "' is missing");
    for (const int64_t index : node.attrs().integers(attribute + kCapturesOf)) {
      given.push_back(inputs[static_cast<size_t>(index)]);
    }
    TW_REQUIRE(given.size() == body->inputs().size(), "its body takes ", body->inputs().size(), " inputs, not ",
               given.size());
    return body_runner(*body).run(given, profile);
  };
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Tensor> results;
  try {
    results = node.op().host(HostContext(node, inputs, run_body, memory_of(node)));
  } catch (const Error& error) {
    raise(context_.name, ": ", describe(node), ": ", error.what());
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const bool made = i < results.size() && results[i].defined();
    TW_REQUIRE(made || (graph_.consumers(node.output(i)).empty() && !graph_.is_output(node.output(i))), context_.name,
               ": ", describe(node), ": its output ", i, " is not supported");
    if (made) contents[number_of(node.output(i))] = results[i];
  }
  if (profile == nullptr) return;
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
  profile->push_back({describe(node), 1, 0, 0, {}, {host_step(node, results, elapsed.count())}});
}

}  // namespace thalweg
