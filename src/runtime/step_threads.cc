// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/step_threads.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/conv_geometry.h"

namespace thalweg {
namespace {

// To hand work to a thread that spins and to hear that it is done takes 1 to 2 us (2 cores of a Zen 3). A thread
// multiplies 20 to 40 numbers per nanosecond and moves about 10 bytes: each should have 5 us and more to do.
constexpr double kMultiplicationsPerThread = 150e3;
constexpr double kBytesPerThread = 64e3;

int clamp_threads(double worth, int threads) {
  return static_cast<int>(std::clamp(worth, 1.0, static_cast<double>(threads)));
}

double bytes_of(const Node& node) {
  double bytes = 0;
  for (const Value* value : node.inputs()) {
    if (value != nullptr) bytes += static_cast<double>(Layout(value->type()).bytes());
  }
  for (const Value* value : node.outputs()) bytes += static_cast<double>(Layout(value->type()).bytes());
  return bytes;
}

double conv_multiplications(const Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  const auto weights = static_cast<double>(geometry.w.num_elements());
  const auto outputs = static_cast<double>(geometry.y.num_elements());
  return geometry.y[1] > 0 ? weights * outputs / static_cast<double>(geometry.y[1]) : 0;
}

/// Of a product of matrices, from the sizes of all three: rows x inner, inner x columns, rows x columns. Too much where
/// there are many products side by side, which then get more threads than each alone would be worth.
double product_multiplications(const Node& node) {
  const auto elements = [](const Value* value) { return static_cast<double>(value->shape().num_elements()); };
  return std::sqrt(elements(node.input(0)) * elements(node.input(1)) * elements(node.output()));
}

template <size_t kCount>
bool is_one_of(const Node& node, const std::array<OpId, kCount>& ops) {
  return std::any_of(ops.begin(), ops.end(), [&](const OpId& op) { return node.op_name() == op; });
}

}  // namespace

int worthwhile_threads(const Node& node, int threads) {
  static constexpr std::array kConvs{op::kConv, op::kConvGradData, op::kConvGradWeights};
  static constexpr std::array kProducts{op::kLinear, op::kLinearGradWeights, op::kMatmul};
  static constexpr std::array kPools{op::kMaxPool, op::kMaxPoolGrad, op::kAvgPool, op::kAvgPoolGrad};
  if (threads == 1) return 1;
  // However few multiplications: to move many weights or pixels is work too.
  const double by_bytes = bytes_of(node) / kBytesPerThread;
  if (is_one_of(node, kConvs)) {
    return clamp_threads(std::max(by_bytes / 4, conv_multiplications(node) / kMultiplicationsPerThread), threads);
  }
  if (is_one_of(node, kProducts)) {
    return clamp_threads(std::max(by_bytes / 4, product_multiplications(node) / kMultiplicationsPerThread), threads);
  }
  return is_one_of(node, kPools) ? clamp_threads(by_bytes, threads) : threads;
}

int worthwhile_threads_of_reorder(const Layout& from, const Layout& to, int threads) {
  return clamp_threads(static_cast<double>(from.bytes() + to.bytes()) / kBytesPerThread, threads);
}

}  // namespace thalweg
