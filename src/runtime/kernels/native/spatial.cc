// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Pools, interpolation and their gradients on the layout in which the activation lies already.
#include "runtime/kernels/simd/spatial.h"

#include <algorithm>

#include "ops/axis_map.h"
#include "ops/ids.h"
#include "runtime/kernel.h"

namespace thalweg {
namespace {

using RowFunction = void (*)(const simd::SpatialJob& job, int64_t begin, int64_t end);

simd::SpatialAxis axis(const AxisMap& map) {
  return {map.targets(), map.sources, map.taps, map.begin.data(), map.list.data()};
}

/// The most sources that a target has.
size_t most_entries(const AxisMap& map) {
  int32_t most = 0;
  for (size_t t = 0; t + 1 < map.begin.size(); ++t) most = std::max(most, map.begin[t + 1] - map.begin[t]);
  return static_cast<size_t>(most);
}

class SpatialKernel : public Kernel {
 public:
  SpatialKernel(const Node& node, const ChannelBlocking& blocking, RowFunction function)
      : maps_(spatial_maps(node)),
        most_lines_(most_entries(maps_[0]) * most_entries(maps_[1])),
        planes_(blocking.outer * blocking.blocks),
        function_(function) {
    name = "native spatial";
    const Value* index = node.op_name() == op::kMaxPool ? node.output(1) : node.input(1);
    job_ = {axis(maps_[0]),
            axis(maps_[1]),
            axis(maps_[2]),
            blocking.block,
            node.output()->dtype() == DType::kBF16,
            index != nullptr && index->dtype() == DType::kU8,
            nullptr,
            nullptr,
            nullptr,
            nullptr};
    index_is_output_ = node.op_name() == op::kMaxPool;
    index_is_input_ = node.op_name() == op::kMaxPoolGrad;
  }

  void run(const KernelArguments& arguments) const override {
    simd::SpatialJob job = job_;
    job.source = arguments.inputs[0];
    job.target = arguments.outputs[0];
    if (index_is_output_) job.index = arguments.outputs[1];
    if (index_is_input_) job.index = arguments.inputs[1];
    const int64_t rows = planes_ * job.depth.targets * job.height.targets;
    const int64_t parts = std::min<int64_t>(rows, arguments.threads);
#pragma omp parallel for schedule(static) num_threads(arguments.threads)
    for (int64_t part = 0; part < parts; ++part) {
      std::vector<simd::SpatialLine> lines(most_lines_);
      simd::SpatialJob own = job;
      own.lines = lines.data();
      function_(own, rows * part / parts, rows * (part + 1) / parts);
    }
  }

 private:
  AxisMaps maps_;
  size_t most_lines_;
  int64_t planes_;
  RowFunction function_;
  simd::SpatialJob job_{};
  bool index_is_output_ = false;
  bool index_is_input_ = false;
};

/// The arrangement of `layout` for a value of another spatial size and element type. Where that leaves one position,
/// channels lie side by side whatever the blocking, unless the last block is padded.
Layout rearranged(const Layout& layout, const TensorType& type) {
  const Layout plain(type);
  if (layout.is_plain()) return plain;
  if (!layout.padded() && type.shape.num_elements(2, type.shape.rank()) == 1) return plain;
  return layout.resized(type);
}

bool same_blocking(const Layout& layout, const ChannelBlocking& expected) {
  ChannelBlocking blocking;
  if (!channel_blocking(layout, blocking, true)) return false;
  const bool one_position =
      blocking.spatial == 1 && blocking.blocks * blocking.block == expected.blocks * expected.block;
  return one_position || (blocking.blocks == expected.blocks && blocking.block == expected.block);
}

/// `like`: the input whose layout decides; it is `unread` unless it is input 0.
std::unique_ptr<Kernel> make_spatial(const KernelRequest& request, std::string& declined, size_t like,
                                     RowFunction function) {
  const Node& node = request.node;
  const DType dtype = node.output()->dtype();
  if (dtype != DType::kF32 && dtype != DType::kBF16) {
    declined = std::string("element type ") + name_of(dtype);
    return nullptr;
  }
  if (has_empty_operand(node)) {
    declined = "an operand has no elements";
    return nullptr;
  }
  Layout base = request.inputs[like];
  ChannelBlocking blocking;
  if (!channel_blocking(base, blocking, true)) base = Layout(base.type());
  std::vector<Layout> inputs, outputs;
  for (const Value* input : node.inputs()) inputs.push_back(rearranged(base, input->type()));
  for (const Value* output : node.outputs()) outputs.push_back(rearranged(base, output->type()));
  channel_blocking(base, blocking, true);
  for (const auto* list : {&inputs, &outputs}) {
    if (std::all_of(list->begin(), list->end(), [&](const Layout& l) { return same_blocking(l, blocking); })) continue;
    inputs = plain_inputs(node);
    outputs = plain_outputs(node);
    channel_blocking(Layout(base.type()), blocking);
    break;
  }
  auto kernel = std::make_unique<SpatialKernel>(node, blocking, function);
  kernel->inputs = std::move(inputs);
  kernel->outputs = std::move(outputs);
  if (like != 0) kernel->unread = {static_cast<int>(like)};
  return kernel;
}

KernelFactory factory(size_t like, RowFunction function) {
  return [like, function](const KernelRequest& request, std::string& declined) {
    return make_spatial(request, declined, like, function);
  };
}

const RegisterKernel kMaxPool(op::kMaxPool, "native", KernelPriority::kNative, factory(0, simd::max_pool_rows));
const RegisterKernel kMaxPoolGrad(op::kMaxPoolGrad, "native", KernelPriority::kNative,
                                  factory(2, simd::max_pool_grad_rows));
const RegisterKernel kAvgPool(op::kAvgPool, "native", KernelPriority::kNative, factory(0, simd::weighted_rows));
const RegisterKernel kAvgPoolGrad(op::kAvgPoolGrad, "native", KernelPriority::kNative, factory(1, simd::weighted_rows));
const RegisterKernel kInterpolate(op::kInterpolate, "native", KernelPriority::kNative, factory(0, simd::weighted_rows));
const RegisterKernel kInterpolateGrad(op::kInterpolateGrad, "native", KernelPriority::kNative,
                                      factory(1, simd::weighted_rows));

}  // namespace
}  // namespace thalweg
