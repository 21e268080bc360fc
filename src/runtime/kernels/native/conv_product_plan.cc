// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/conv_product_plan.h"

#include <algorithm>
#include <limits>

#include "ops/conv_geometry.h"
#include "runtime/kernels/native/conv_epilogue.h"

namespace thalweg {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The left side of a block of pixels is read once for each panel and should stay in a second-level cache (1.25 MiB on
/// Ice Lake, 1 MiB on Zen 4) beside a panel. Larger blocks read the panels less often: for large weights and small
/// maps.
constexpr int64_t kLeftBytes = int64_t{600} << 10;
constexpr int64_t kLargeLeftBytes = int64_t{1200} << 10;

}  // namespace

int ConvProductShape::vectors_of(int64_t panel) const {
  return static_cast<int>(std::min<int64_t>(panel_vectors, out_blocks - panel * panel_vectors));
}

ConvProductShape conv_product_shape(const Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  const Window& window = geometry.window;
  ConvProductShape shape;
  shape.lanes = simd::block_lanes(simd::best_isa());
  shape.panel_vectors = simd::panel_vectors(simd::best_isa());
  shape.batch = geometry.x[0];
  shape.pixels = geometry.y[2] * geometry.y[3];
  shape.out_blocks = ceil_div(geometry.y[1], shape.lanes);
  simd::ConvPatches& patches = shape.patches;
  patches.blocks = ceil_div(geometry.x[1], shape.lanes);
  patches.height = geometry.x[2];
  patches.width = geometry.x[3];
  patches.out_width = geometry.y[3];
  patches.kernel_y = window.kernel[0];
  patches.kernel_x = window.kernel[1];
  patches.stride_y = window.strides[0];
  patches.stride_x = window.strides[1];
  patches.dilation_y = window.dilations[0];
  patches.dilation_x = window.dilations[1];
  patches.pad_y = window.begins[0];
  patches.pad_x = window.begins[1];
  shape.in_place = patches.kernel_y == 1 && patches.kernel_x == 1 && patches.stride_y == 1 && patches.stride_x == 1 &&
                   geometry.y[2] == geometry.x[2] && geometry.y[3] == geometry.x[3];
  shape.left_blocks = shape.in_place ? patches.blocks : patches.left_blocks(shape.lanes);
  return shape;
}

ConvProductBlocking conv_product_blocking(const ConvProductShape& shape, int threads, int panel_teams, bool large) {
  const int64_t sharers = threads / panel_teams;
  const int64_t pixel_bytes = shape.left_blocks * shape.lanes * static_cast<int64_t>(sizeof(float));
  const int64_t left_bytes = large ? kLargeLeftBytes : kLeftBytes;
  int64_t blocks = ceil_div(shape.pixels, std::max<int64_t>(left_bytes / pixel_bytes, 1));
  if (shape.batch % sharers != 0) blocks = ceil_div(blocks, sharers) * sharers;
  return {panel_teams, ceil_div(shape.pixels, std::min(blocks, shape.pixels))};
}

int conv_product_teams(const ConvProductShape& shape, int threads) {
  // To bring a float through the caches costs a thread as much as so many multiply-adds of a whole panel row.
  constexpr double kFloat = 8;
  const auto columns = static_cast<double>(shape.left_blocks * shape.lanes);
  int best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (int teams = 1; teams <= threads; ++teams) {
    if (threads % teams != 0) continue;
    const ConvProductBlocking blocking = conv_product_blocking(shape, threads, teams);
    const int64_t blocks = shape.batch * ceil_div(shape.pixels, blocking.pixels);
    const auto pixels = static_cast<double>(ceil_div(blocks, threads / teams) * blocking.pixels);
    const auto panels = static_cast<double>(ceil_div(shape.panels(), teams));
    const double cost = columns * (pixels * panels + kFloat * (pixels / 64 + panels));
    if (cost < least) {
      least = cost;
      best = teams;
    }
  }
  return best;
}

std::string conv_product_obstacle(const KernelRequest& request) {
  const Node& node = request.node;
  if (simd::best_isa() == simd::Isa::kBaseline) return "needs AVX2";
  if (has_empty_operand(node)) return "an operand has no elements";
  const ConvGeometry geometry = conv_geometry(node);
  if (geometry.rank() != 2 || geometry.groups != 1) return "not a convolution of two dimensions with groups 1";
  for (const Value* value : node.inputs()) {
    if (value != nullptr && value->dtype() != DType::kF32)
      return std::string("element type ") + name_of(value->dtype());
  }
  if (std::string problem = ConvEpilogue::obstacle(node); !problem.empty()) return problem;
  // With weights that change, every step would have to arrange them anew.
  const bool fixed = request.input_is_fixed.size() > 1 && request.input_is_fixed[1];
  return fixed || request.by_name ? "" : "the weights are not fixed";
}

bool conv_product_possible(const KernelRequest& request, std::string& declined) {
  declined = conv_product_obstacle(request);
  if (!declined.empty() || request.by_name) return declined.empty();
  const ConvGeometry geometry = conv_geometry(request.node);
  if (geometry.x[1] < 32 || geometry.y[1] < 32) declined = "too few channels";
  return declined.empty();
}

}  // namespace thalweg
