// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/winograd_plan.h"

#include <omp.h>

#include <algorithm>

#include "ops/ids.h"
#include "runtime/kernels/native/conv_epilogue.h"
#include "runtime/kernels/native/winograd_accuracy.h"

namespace thalweg {
namespace {

using Tag = dnnl::memory::format_tag;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

simd::WinogradMap map_of(const Shape& shape, int lanes) {
  simd::WinogradMap map{};
  map.blocks = ceil_div(shape[1], lanes);
  map.height = shape[2];
  map.width = shape[3];
  return map;
}

// Sizes in bytes, found on Ice Lake (L2 1.25 MiB, L3 48 MiB) and meant to suit caches of 1 MiB and 16 MiB and more.
/// Transformed weights up to this size are read again for each block of a thread's own.
constexpr int64_t kOwnWeights = int64_t{5} << 19;
/// Transformed tiles of a block that one thread works on.
constexpr int64_t kOwnTiles = int64_t{1200} << 10;
/// The same in the gradient of the weights, beside sums of up to kOwnSums.
constexpr int64_t kOwnSums = int64_t{700} << 10;
constexpr int64_t kOwnTilesOfGradient = int64_t{400} << 10;
/// Transformed tiles of a block that all threads share: this much at least, four times as much at most.
constexpr int64_t kSharedTiles = int64_t{16} << 20;
/// The size of blocks of at most `most` that cut `count` evenly, in whole rows of the product's inner loop if it can.
int64_t even_blocks(int64_t count, int64_t most) {
  constexpr int64_t kRows = 6;
  if (count <= most) return count;
  const int64_t size = ceil_div(count, ceil_div(count, std::max<int64_t>(most, 1)));
  return std::min(count, ceil_div(size, kRows) * kRows);
}

bool is_3x3_of_stride_1(const ConvGeometry& geometry) {
  const Window& window = geometry.window;
  if (geometry.rank() != 2 || geometry.groups != 1) return false;
  for (size_t d = 0; d < 2; ++d) {
    if (window.kernel[d] != 3 || window.strides[d] != 1 || window.dilations[d] != 1) return false;
  }
  return true;
}

/// Why the kernels cannot compute the node at all; empty if they can.
std::string obstacle(const Node& node) {
  if (simd::best_isa() == simd::Isa::kBaseline) return "needs AVX2";
  if (has_empty_operand(node)) return "an operand has no elements";
  if (!is_3x3_of_stride_1(conv_geometry(node))) return "not a 3x3 kernel with stride, dilation and groups 1";
  for (const Value* value : node.inputs()) {
    if (value != nullptr && value->dtype() != DType::kF32)
      return std::string("element type ") + name_of(value->dtype());
  }
  return node.op_name() == op::kConv ? ConvEpilogue::obstacle(node) : "";
}

// Costs in multiply-adds. To transform a value back and forth costs as much as kTransform of them, and to bring a
// weight from memory kWeight; with these the estimate was within a quarter of the measured ratio for the layers of
// VGG16, ResNet-50, Inception-v1 and AlexNet, batch 1 to 32 (2 cores of an Ice Lake).
constexpr double kTransform = 16, kWeight = 50;

double winograd_cost(const WinogradShape& shape) {
  const auto in = static_cast<double>(shape.in.blocks * shape.lanes),
             out = static_cast<double>(shape.out.blocks * shape.lanes);
  const auto points = static_cast<double>(shape.points()), tiles = static_cast<double>(shape.tiles());
  return points * (tiles * (in * out + kTransform * (in + out)) + kWeight * in * out);
}

double direct_cost(const ConvGeometry& geometry) {
  const auto weights = static_cast<double>(geometry.w.num_elements());
  const auto outputs = static_cast<double>(geometry.y.num_elements() / geometry.y[1]);
  return weights * (outputs + kWeight);
}

}  // namespace

int WinogradShape::vectors_of(int64_t panel) const {
  return static_cast<int>(std::min<int64_t>(panel_vectors, out.blocks - panel * panel_vectors));
}

simd::WinogradWeights WinogradShape::weights(bool turned) const {
  simd::WinogradWeights weights{};
  weights.row_blocks = in.blocks;
  weights.column_blocks = out.blocks;
  weights.turned = turned;
  weights.panel_stride = in.blocks * lanes * panel_floats();
  weights.point_stride = panels() * weights.panel_stride;
  weights.vectors = panel_vectors;
  weights.parts = 1;
  return weights;
}

WinogradShape winograd_shape(const ConvGeometry& geometry, WinogradPass pass, int m) {
  WinogradShape shape;
  shape.m = m;
  shape.lanes = simd::block_lanes(simd::best_isa());
  shape.panel_vectors = simd::panel_vectors(simd::best_isa());
  shape.batch = geometry.x[0];
  const bool data = pass == WinogradPass::kData;
  shape.in = map_of(data ? geometry.y : geometry.x, shape.lanes);
  shape.out = map_of(data ? geometry.x : geometry.y, shape.lanes);
  const std::vector<int64_t>& begins = geometry.window.begins;
  shape.in.origin_y = data ? begins[0] - 2 : -begins[0];
  shape.in.origin_x = data ? begins[1] - 2 : -begins[1];
  shape.out.tiles_y = shape.in.tiles_y = ceil_div(shape.out.height, m);
  shape.out.tiles_x = shape.in.tiles_x = ceil_div(shape.out.width, m);
  return shape;
}

bool winograd_computes(const Node& node, std::string& declined) {
  declined = obstacle(node);
  return declined.empty();
}

bool winograd_possible(const KernelRequest& request, WinogradPass pass, int m, std::string& declined) {
  declined = obstacle(request.node);
  if (!declined.empty() || request.by_name) return declined.empty();
  if (request.strict_math) declined = "strict mathematics was asked for";
  // The gradient of the weights does not read them: it follows what the other two decide, as far as it can know.
  if (declined.empty() && pass != WinogradPass::kWeights && request.content) {
    const Tensor weights = request.content(1);
    const double error = weights.defined() ? winograd_error(weights, m) : 0.0;
    if (error > kWinogradErrorLimit) declined = "the error with these weights would be " + std::to_string(error);
  }
  return declined.empty();
}

int winograd_by_rule(const ConvGeometry& geometry, WinogradPass pass, bool always) {
  const double small = winograd_cost(winograd_shape(geometry, pass, 2));
  const double large = winograd_cost(winograd_shape(geometry, pass, 4));
  // A model of costs is not exact: the direct method, which needs less memory, wins a near tie.
  constexpr double kMargin = 1.25;
  if (!always && kMargin * std::min(small, large) > direct_cost(geometry)) return 0;
  return small < large ? 2 : 4;
}

int choose_winograd(const KernelRequest& request, WinogradPass pass, std::string& declined) {
  declined = obstacle(request.node);
  if (!declined.empty()) return 0;
  const int m = winograd_by_rule(conv_geometry(request.node), pass, request.by_name);
  if (m == 0) {
    declined = "the direct method is likely to be as fast";
    return 0;
  }
  return winograd_possible(request, pass, m, declined) ? m : 0;
}

Layout winograd_activation_layout(const TensorType& type, int lanes) {
  return {type, {to_dnnl(type.shape), to_dnnl(type.dtype), lanes == 16 ? Tag::nChw16c : Tag::nChw8c}};
}

Layout winograd_weights_layout(const TensorType& type, int lanes) {
  return {type, {to_dnnl(type.shape), to_dnnl(type.dtype), lanes == 16 ? Tag::OIhw16i16o : Tag::OIhw8i8o}};
}

WinogradBlocking winograd_blocking(const WinogradShape& shape, WinogradPass pass, int threads) {
  const int64_t in_channels = shape.in.blocks * shape.lanes, out_channels = shape.out.blocks * shape.lanes;
  const int64_t point_bytes = shape.points() * static_cast<int64_t>(sizeof(float));
  const int64_t weights_bytes = point_bytes * in_channels * out_channels;
  const int64_t all = shape.tiles();
  const bool gradient = pass == WinogradPass::kWeights;
  WinogradBlocking blocking;
  blocking.shared = threads > 1 && weights_bytes > (gradient ? kOwnSums : kOwnWeights);
  if (blocking.shared) {
    blocking.panels = shape.panels();
    // The larger the weights (or their sums), the more tiles should share reading (and writing) them.
    const int64_t budget = std::clamp((gradient ? 4 : 1) * weights_bytes, kSharedTiles, 4 * kSharedTiles);
    blocking.tiles = even_blocks(all, budget / (point_bytes * (in_channels + out_channels)));
  } else {
    const int64_t width = in_channels + (gradient ? out_channels : shape.panel_floats());
    const int64_t budget = gradient ? kOwnTilesOfGradient : kOwnTiles;
    blocking.tiles = even_blocks(ceil_div(all, threads), budget / (point_bytes * width));
  }
  return blocking;
}

std::vector<WinogradChoice> winograd_choices(const Node& node, WinogradPass pass, int threads) {
  const ConvGeometry geometry = conv_geometry(node);
  std::vector<WinogradChoice> result;
  for (const int m : {4, 2}) {
    const WinogradShape shape = winograd_shape(geometry, pass, m);
    // The estimate is not that wrong, and a measurement may be.
    constexpr double kHopeless = 1.5;
    if (winograd_cost(shape) > kHopeless * direct_cost(geometry)) continue;
    const WinogradBlocking rule = winograd_blocking(shape, pass, threads);
    const int64_t all = rule.shared ? shape.tiles() : ceil_div(shape.tiles(), threads);
    result.push_back({m, rule});
    for (const int64_t tiles : {rule.tiles / 2, rule.tiles * 2}) {
      WinogradBlocking other = rule;
      other.tiles = even_blocks(all, std::max<int64_t>(tiles, 1));
      if (m == 4 && other.tiles != rule.tiles) result.push_back({m, other});
    }
  }
  return result;
}

void WinogradTeam::wait() const {
  if (size > 1) {
#pragma omp barrier
  }
}

WinogradShare winograd_share(const WinogradShape& shape, const WinogradBlocking& blocking) {
  const int thread = omp_get_thread_num(), count = omp_get_num_threads();
  if (blocking.shared) return {{thread, count}, 0, shape.tiles(), 0};
  return {{0, 1}, shape.tiles() * thread / count, shape.tiles() * (thread + 1) / count, thread};
}

simd::WinogradTiles winograd_tiles(const WinogradShape& shape, int64_t blocks, int vectors, int64_t tiles) {
  // A cache line or two more than needed: points at a power of two apart would fall into the same cache sets.
  simd::WinogradTiles result{};
  result.vectors = vectors;
  result.panel_stride = tiles * vectors * shape.lanes + 16;
  result.point_stride = ceil_div(blocks, vectors) * result.panel_stride + 16;
  return result;
}

int64_t winograd_tiles_floats(const WinogradShape& shape, const simd::WinogradTiles& tiles) {
  return shape.points() * tiles.point_stride;
}

}  // namespace thalweg
