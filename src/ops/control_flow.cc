// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan. Their bodies are graphs of their own, compiled for the shapes that enter them.
#include "ops/control_flow.h"

#include <algorithm>
#include <limits>

#include "base/limits.h"
#include "graph/host_op.h"
#include "ops/host_arrays.h"

namespace thalweg {
namespace {

constexpr const char* kIfName = "onnx.If";

const char* branch_name(bool condition) { return condition ? "then_branch" : "else_branch"; }

std::vector<Tensor> run_if(const HostContext& call) {
  return call.run_body(branch_name(call.content_number(0, 0.0) != 0), {});
}

/// Results of all iterations so far, kept until they can be stacked.
class ScannedResults {
 public:
  explicit ScannedResults(size_t count) : parts_(count) {}

  void add(const std::vector<Tensor>& results, size_t first) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      parts_[i].push_back(results[first + i]);
      bytes_ += results[first + i].num_bytes() + sizeof(Tensor);
    }
    require_memory(bytes_);
  }
  std::vector<std::vector<Tensor>>& parts() { return parts_; }

 private:
  std::vector<std::vector<Tensor>> parts_;
  size_t bytes_ = 0;
};

/// What a body without iterations would have given: the declared shape with 0 iterations.
Tensor no_iterations(const Value* output) {
  TW_REQUIRE(output->typed(), "the body does not say of which type its results are");
  std::vector<int64_t> dims = {0};
  for (const int64_t dim : output->shape()) dims.push_back(std::max<int64_t>(0, dim));
  return Tensor(output->dtype(), Shape(dims));
}

std::vector<Tensor> run_loop(const HostContext& call) {
  const std::vector<Value*>& body_outputs = call.body("body").outputs();
  const int64_t limit = call.content_integer(0, std::numeric_limits<int64_t>::max());
  bool go_on = call.content_number(1, 1.0) != 0;
  std::vector<Tensor> carried;
  for (size_t i = 2; i < call.num_inputs(); ++i) carried.push_back(call.input(i));
  TW_REQUIRE(body_outputs.size() > carried.size(), "its body gives ", body_outputs.size(), " results for ",
             carried.size(), " carried values");
  ScannedResults scanned(body_outputs.size() - 1 - carried.size());
  for (int64_t iteration = 0; iteration < limit && go_on; ++iteration) {
    std::vector<Tensor> inputs = {Tensor::scalar<int64_t>(iteration), Tensor::scalar<bool>(go_on)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    const std::vector<Tensor> results = call.run_body("body", inputs);
    go_on = results[0].item() != 0;
    for (size_t i = 0; i < carried.size(); ++i) carried[i] = results[1 + i];
    scanned.add(results, 1 + carried.size());
  }
  std::vector<Tensor> results = carried;
  for (const std::vector<Tensor>& parts : scanned.parts()) {
    results.push_back(parts.empty() ? no_iterations(body_outputs[1 + results.size()]) : stack(parts, 0));
  }
  return results;
}

/// Element `index` along `axis`, which goes.
Tensor element(const Tensor& x, int axis, int64_t index) {
  std::vector<int64_t> dims = x.shape().dims();
  dims.erase(dims.begin() + axis);
  return take(x, axis, {index}).reshaped(Shape(std::move(dims)));
}

/// What the attributes say of each scanned input or output; what they leave out is 0.
struct ScanOrder {
  std::vector<int64_t> axes, directions;
  int64_t axis(size_t index) const { return index < axes.size() ? axes[index] : 0; }
  bool reverse(size_t index) const { return index < directions.size() && directions[index] != 0; }
};

std::vector<Tensor> run_scan_once(const HostContext& call, std::vector<Tensor> state,
                                  const std::vector<Tensor>& scanned, const ScanOrder& in, const ScanOrder& out) {
  const std::vector<Value*>& body_outputs = call.body("body").outputs();
  TW_REQUIRE(!scanned.empty() && body_outputs.size() >= state.size(), "it does not fit its body");
  const int64_t steps = scanned[0].shape()[checked_axis(in.axis(0), scanned[0].shape().rank())];
  ScannedResults gathered(body_outputs.size() - state.size());
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<Tensor> inputs = state;
    for (size_t i = 0; i < scanned.size(); ++i) {
      const int axis = checked_axis(in.axis(i), scanned[i].shape().rank());
      TW_REQUIRE(scanned[i].shape()[axis] == steps, "scanned inputs have different lengths");
      inputs.push_back(element(scanned[i], axis, in.reverse(i) ? steps - 1 - step : step));
    }
    const std::vector<Tensor> outputs = call.run_body("body", inputs);
    for (size_t i = 0; i < state.size(); ++i) state[i] = outputs[i];
    gathered.add(outputs, state.size());
  }
  std::vector<std::vector<Tensor>>& results = gathered.parts();
  for (size_t i = 0; i < results.size(); ++i) {
    if (out.reverse(i)) std::reverse(results[i].begin(), results[i].end());
    TW_REQUIRE(!results[i].empty(), "there is nothing to scan");
    state.push_back(stack(results[i], checked_axis(out.axis(i), results[i][0].shape().rank() + 1)));
  }
  return state;
}

/// As opset 8 has it: behind an input for lengths, everything has a batch first, whose elements are scanned one by one.
std::vector<Tensor> run_batched_scan(const HostContext& call, size_t num_scanned) {
  TW_REQUIRE(!call.has(0), "lengths that differ within the batch are not supported");
  TW_REQUIRE(num_scanned < call.num_inputs() && call.input(1).shape().rank() > 0, "there is no batch");
  const int64_t batch = call.input(1).shape()[0];
  const ScanOrder in{{}, call.integers("directions")};
  std::vector<std::vector<Tensor>> results;
  for (int64_t n = 0; n < batch; ++n) {
    std::vector<Tensor> state, scanned;
    for (size_t i = 1; i < call.num_inputs(); ++i) {
      const Tensor& given = call.input(i);
      TW_REQUIRE(given.shape().rank() > 0 && given.shape()[0] == batch, "input ", i, " has another batch than ", batch);
      (i + num_scanned < call.num_inputs() ? state : scanned).push_back(element(given, 0, n));
    }
    const std::vector<Tensor> once = run_scan_once(call, state, scanned, in, {});
    results.resize(once.size());
    for (size_t o = 0; o < once.size(); ++o) results[o].push_back(once[o]);
  }
  std::vector<Tensor> stacked;
  for (const std::vector<Tensor>& parts : results) stacked.push_back(stack(parts, 0));
  return stacked;
}

std::vector<Tensor> run_scan(const HostContext& call) {
  const auto num_scanned = static_cast<size_t>(call.integer("num_scan_inputs", 0));
  TW_REQUIRE(num_scanned >= 1 && num_scanned <= call.num_inputs(), "num_scan_inputs does not fit");
  if (call.integer("opset", 9) < 9) return run_batched_scan(call, num_scanned);
  std::vector<Tensor> state, scanned;
  for (size_t i = 0; i < call.num_inputs(); ++i) {
    (i + num_scanned < call.num_inputs() ? state : scanned).push_back(call.input(i));
  }
  return run_scan_once(call, state, scanned, {call.integers("scan_input_axes"), call.integers("scan_input_directions")},
                       {call.integers("scan_output_axes"), call.integers("scan_output_directions")});
}

const RegisterHost kIf(kIfName, run_if);
const RegisterHost kLoop("onnx.Loop", run_loop);
const RegisterHost kScan("onnx.Scan", run_scan);

}  // namespace

bool is_choice(const Node& node) { return node.op_name() == kIfName; }

Branch branch_of(const Node& node, bool condition) {
  const std::string name = branch_name(condition);
  Branch branch{node.attrs().graph(name), {}};
  TW_REQUIRE(branch.graph != nullptr, describe(node), ": attribute '", name, "' is missing");
  for (const int64_t index : node.attrs().integers(name + kCapturesOf)) {
    branch.captured.push_back(node.input(static_cast<size_t>(index)));
  }
  TW_REQUIRE(branch.captured.size() == branch.graph->inputs().size(), describe(node), ": its ", name, " takes ",
             branch.graph->inputs().size(), " inputs, not ", branch.captured.size());
  return branch;
}

}  // namespace thalweg
