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

bool covers_evenly(const AxisMap& map) {
  if (map.targets() != 1 || static_cast<int64_t>(map.list.size()) != map.sources) return false;
  for (size_t i = 0; i < map.list.size(); ++i) {
    if (map.list[i].index != static_cast<int64_t>(i) || map.list[i].weight != map.list[0].weight) return false;
  }
  return true;
}

/// Where one target has everything, as of a global pool, all three dimensions are one line.
void join_if_global(AxisMaps& maps) {
  if (!std::all_of(maps.begin(), maps.end(), covers_evenly)) return;
  AxisMap line;
  double weight = 1.0;
  for (const AxisMap& map : maps) {
    line.sources *= map.sources;
    weight *= map.list[0].weight;
  }
  line.taps = line.sources;
  line.begin = {0, static_cast<int32_t>(line.sources)};
  for (int64_t i = 0; i < line.sources; ++i) {
    line.list.push_back({static_cast<int32_t>(i), static_cast<int32_t>(i), weight});
  }
  const AxisMap one{1, 1, {0, 1}, {{0, 0, 1.0}}};
  maps = {one, one, std::move(line)};
}

/// The longest run of targets whose sources lie evenly.
simd::EvenTargets even_targets(const AxisMap& map) {
  simd::EvenTargets best;
  const auto count = [&](int64_t t) {
    return map.begin[static_cast<size_t>(t) + 1] - map.begin[static_cast<size_t>(t)];
  };
  const auto entry = [&](int64_t t, int64_t k) {
    return map.list[static_cast<size_t>(map.begin[static_cast<size_t>(t)] + k)];
  };
  const auto even = [&](int64_t t, simd::EvenTargets& run) {
    if (count(t) == 0) return false;
    run = {t, t + 1, entry(t, 0).index, 1, 1, count(t), static_cast<float>(entry(t, 0).weight)};
    if (run.taps > 1) run.step = entry(t, 1).index - entry(t, 0).index;
    for (int64_t k = 0; k < run.taps; ++k) {
      if (entry(t, k).index != run.base + k * run.step || static_cast<float>(entry(t, k).weight) != run.weight)
        return false;
    }
    return run.step > 0;
  };
  for (int64_t t = 0; t < map.targets();) {
    simd::EvenTargets run, next;
    if (!even(t++, run)) continue;
    for (; t < map.targets() && even(t, next); ++t) {
      if (run.last == run.first + 1) run.stride = std::max<int64_t>(next.base - run.base, 1);
      const bool goes_on = next.base == run.base + (t - run.first) * run.stride;
      if (!goes_on || next.taps != run.taps || next.step != run.step || next.weight != run.weight) break;
      run.last = t + 1;
    }
    if (run.last - run.first > best.last - best.first) best = run;
  }
  return best;
}

/// How a kernel goes over its rows.
struct RowFunctions {
  RowFunction direct = nullptr;
  /// A direction at a time; null where there is no such form.
  RowFunction by_lines = nullptr;
};

class SpatialKernel : public Kernel {
 public:
  SpatialKernel(const Node& node, const ChannelBlocking& blocking, const RowFunctions& functions)
      : maps_(spatial_maps(node)), planes_(blocking.outer * blocking.blocks), function_(functions.direct) {
    name = "native spatial";
    if (functions.by_lines != nullptr && better_by_lines(blocking)) {
      function_ = functions.by_lines;
      merged_floats_ = static_cast<size_t>(maps_[2].sources * blocking.block);
    }
    most_lines_ = most_entries(maps_[0]) * most_entries(maps_[1]);
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
    if (merged_floats_ > 0 && blocking.block == 1) job_.even = even_targets(maps_[2]);
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
      std::vector<float> merged(merged_floats_);
      simd::SpatialJob own = job;
      own.lines = lines.data();
      own.merged = merged.data();
      function_(own, rows * part / parts, rows * (part + 1) / parts);
    }
  }

 private:
  /// Where channels do not fill registers, and where windows overlap, so that the same sums would be computed again.
  bool better_by_lines(const ChannelBlocking& blocking) {
    join_if_global(maps_);
    const bool overlaps = static_cast<int64_t>(maps_[2].list.size()) > maps_[2].sources;
    return blocking.block == 1 || overlaps;
  }

  AxisMaps maps_;
  size_t most_lines_ = 0;
  size_t merged_floats_ = 0;
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
                                     const RowFunctions& functions) {
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
  auto kernel = std::make_unique<SpatialKernel>(node, blocking, functions);
  kernel->inputs = std::move(inputs);
  kernel->outputs = std::move(outputs);
  if (like != 0) kernel->unread = {static_cast<int>(like)};
  return kernel;
}

KernelFactory factory(size_t like, const RowFunctions& functions) {
  return [like, functions](const KernelRequest& request, std::string& declined) {
    return make_spatial(request, declined, like, functions);
  };
}

std::unique_ptr<Kernel> make_max_pool(const KernelRequest& request, std::string& declined) {
  const Value* index = request.node.output(1);
  const Graph& graph = request.node.graph();
  const bool wanted = !graph.consumers(index).empty() || graph.is_output(index);
  return make_spatial(request, declined, 0, {simd::max_pool_rows, wanted ? nullptr : simd::largest_lines});
}

constexpr RowFunctions kWeighted{simd::weighted_rows, simd::weighted_lines};

const RegisterKernel kMaxPool(op::kMaxPool, "native", KernelPriority::kNative, make_max_pool);
const RegisterKernel kMaxPoolGrad(op::kMaxPoolGrad, "native", KernelPriority::kNative,
                                  factory(2, {simd::max_pool_grad_rows, nullptr}));
const RegisterKernel kAvgPool(op::kAvgPool, "native", KernelPriority::kNative, factory(0, kWeighted));
const RegisterKernel kAvgPoolGrad(op::kAvgPoolGrad, "native", KernelPriority::kNative, factory(1, kWeighted));
const RegisterKernel kInterpolate(op::kInterpolate, "native", KernelPriority::kNative, factory(0, kWeighted));
const RegisterKernel kInterpolateGrad(op::kInterpolateGrad, "native", KernelPriority::kNative, factory(1, kWeighted));

}  // namespace
}  // namespace thalweg
