// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Pictures read at places of a grid. What four neighbours each place has, and their shares, is found once for a block
// of places and serves all channels.
#include <algorithm>
#include <array>

#include "ops/grid_places.h"
#include "ops/ids_rare.h"
#include "runtime/kernel.h"

namespace thalweg {
namespace {

/// Places whose neighbours stay in the first-level cache while channels go by.
constexpr int64_t kBlock = 256;

/// The neighbours of a block of places in a plane: (low, low), (low, high), (high, low), (high, high).
struct Neighbours {
  std::array<std::array<int32_t, kBlock>, 4> index;
  std::array<std::array<float, kBlock>, 4> share;
};

/// How a coordinate changes the shares, across and down.
struct Slopes {
  std::array<std::array<float, kBlock>, 4> across, down;
};

class GridSampleKernel : public Kernel {
 public:
  enum class Form { kForward, kPictures, kGrid };

  GridSampleKernel(const Node& node, Form form) : node_(node), form_(form) {
    name = form == Form::kForward    ? "native grid_sample"
           : form == Form::kPictures ? "native grid_sample_grad"
                                     : "native grid_sample_grad_grid";
    inputs = plain_inputs(node);
    outputs = plain_outputs(node);
    if (form == Form::kPictures) unread = {2};
  }

  void run(const KernelArguments& arguments) const override {
    switch (form_) {
      case Form::kForward: return sample(arguments);
      case Form::kPictures: return spread(arguments);
      case Form::kGrid: return slope(arguments);
    }
  }

 private:
  const Shape& pictures() const { return node_.input(form_ == Form::kForward ? 0 : 2)->shape(); }
  int64_t places() const { return node_.input(1)->shape().num_elements(1, 3); }
  int64_t blocks() const { return (places() + kBlock - 1) / kBlock; }

  /// Those of `count` places from `grid` on; `slopes` if they are not null.
  void find(const float* grid, int64_t count, Neighbours& found, Slopes* slopes) const {
    const Shape& x = pictures();
    const GridAxis<float> rows(node_.attrs(), x[2]), columns(node_.attrs(), x[3]);
    const auto width = static_cast<int32_t>(x[3]);
    for (int64_t p = 0; p < count; ++p) {
      const auto at = static_cast<size_t>(p);
      const GridPlace<float> i = rows.place(grid[p * 2 + 1]), j = columns.place(grid[p * 2]);
      const auto low_row = static_cast<int32_t>(i.low) * width, high_row = static_cast<int32_t>(i.high) * width;
      const auto low = static_cast<int32_t>(j.low), high = static_cast<int32_t>(j.high);
      found.index[0][at] = low_row + low;
      found.index[1][at] = low_row + high;
      found.index[2][at] = high_row + low;
      found.index[3][at] = high_row + high;
      set(found.share, at, i.low_share, i.high_share, j.low_share, j.high_share);
      if (slopes == nullptr) continue;
      set(slopes->across, at, i.low_share, i.high_share, j.low_slope, j.high_slope);
      set(slopes->down, at, i.low_slope, i.high_slope, j.low_share, j.high_share);
    }
  }
  static void set(std::array<std::array<float, kBlock>, 4>& shares, size_t at, float low_row, float high_row, float low,
                  float high) {
    shares[0][at] = low_row * low;
    shares[1][at] = low_row * high;
    shares[2][at] = high_row * low;
    shares[3][at] = high_row * high;
  }

  /// Calls `body(picture, first place, count, grid)` for the blocks of all pictures, on all threads.
  template <typename Body>
  void for_each_block(const KernelArguments& arguments, Body body) const {
    const auto* grid = static_cast<const float*>(arguments.inputs[1]);
    const int64_t each = blocks(), all = pictures()[0] * each;
#pragma omp parallel for schedule(static) num_threads(arguments.threads)
    for (int64_t b = 0; b < all; ++b) {
      const int64_t n = b / each, first = b % each * kBlock;
      body(n, first, std::min(kBlock, places() - first), grid + (n * places() + first) * 2);
    }
  }

  void sample(const KernelArguments& arguments) const {
    const auto* x = static_cast<const float*>(arguments.inputs[0]);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    const int64_t channels = pictures()[1], plane = pictures().num_elements(2, 4);
    for_each_block(arguments, [&](int64_t n, int64_t first, int64_t count, const float* grid) {
      Neighbours found;
      find(grid, count, found, nullptr);
      for (int64_t c = n * channels; c < (n + 1) * channels; ++c) {
        const float* from = x + c * plane;
        float* to = y + c * places() + first;
        for (size_t p = 0; p < static_cast<size_t>(count); ++p) {
          to[p] = found.share[0][p] * from[found.index[0][p]] + found.share[1][p] * from[found.index[1][p]] +
                  found.share[2][p] * from[found.index[2][p]] + found.share[3][p] * from[found.index[3][p]];
        }
      }
    });
  }

  void slope(const KernelArguments& arguments) const {
    const auto* dy = static_cast<const float*>(arguments.inputs[0]);
    const auto* x = static_cast<const float*>(arguments.inputs[2]);
    auto* gradient = static_cast<float*>(arguments.outputs[0]);
    const int64_t channels = pictures()[1], plane = pictures().num_elements(2, 4);
    for_each_block(arguments, [&](int64_t n, int64_t first, int64_t count, const float* grid) {
      Neighbours found;
      Slopes slopes;
      find(grid, count, found, &slopes);
      std::array<float, kBlock> across{}, down{};
      for (int64_t c = n * channels; c < (n + 1) * channels; ++c) {
        const float* from = x + c * plane;
        const float* error = dy + c * places() + first;
        for (size_t p = 0; p < static_cast<size_t>(count); ++p) {
          float by_column = 0, by_row = 0;
          for (size_t k = 0; k < 4; ++k) {
            const float element = from[found.index[k][p]];
            by_column += slopes.across[k][p] * element;
            by_row += slopes.down[k][p] * element;
          }
          across[p] += error[p] * by_column;
          down[p] += error[p] * by_row;
        }
      }
      float* to = gradient + (n * places() + first) * 2;
      for (size_t p = 0; p < static_cast<size_t>(count); ++p) {
        to[2 * p] = across[p];
        to[2 * p + 1] = down[p];
      }
    });
  }

  /// Each part has channels of its own, so that none writes where another does.
  void spread(const KernelArguments& arguments) const {
    const auto* dy = static_cast<const float*>(arguments.inputs[0]);
    const auto* grid = static_cast<const float*>(arguments.inputs[1]);
    auto* gradient = static_cast<float*>(arguments.outputs[0]);
    const int64_t batch = pictures()[0], channels = pictures()[1], plane = pictures().num_elements(2, 4);
    const int64_t parts = std::min<int64_t>(channels, arguments.threads);
#pragma omp parallel for schedule(static) num_threads(arguments.threads)
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t begin = channels * part / parts, end = channels * (part + 1) / parts;
      Neighbours found;
      for (int64_t n = 0; n < batch; ++n) {
        std::fill_n(gradient + (n * channels + begin) * plane, (end - begin) * plane, 0.0F);
        for (int64_t first = 0; first < places(); first += kBlock) {
          const int64_t count = std::min(kBlock, places() - first);
          find(grid + (n * places() + first) * 2, count, found, nullptr);
          for (int64_t c = n * channels + begin; c < n * channels + end; ++c) {
            add(found, dy + c * places() + first, count, gradient + c * plane);
          }
        }
      }
    }
  }
  static void add(const Neighbours& found, const float* error, int64_t count, float* plane) {
    for (size_t p = 0; p < static_cast<size_t>(count); ++p) {
      for (size_t k = 0; k < 4; ++k) plane[found.index[k][p]] += found.share[k][p] * error[p];
    }
  }

  const Node& node_;  // lives in the program's graph, which outlives its kernels
  Form form_;
};

KernelFactory factory(GridSampleKernel::Form form) {
  return [form](const KernelRequest& request, std::string& declined) -> std::unique_ptr<Kernel> {
    const Node& node = request.node;
    const Value* pictures = node.input(form == GridSampleKernel::Form::kForward ? 0 : 2);
    constexpr int64_t kMostInPlane = int64_t{1} << 31;
    if (pictures->dtype() != DType::kF32) declined = std::string("element type ") + name_of(pictures->dtype());
    if (has_empty_operand(node) || node.output()->shape().num_elements() == 0) declined = "an operand is empty";
    if (pictures->shape().num_elements(2, 4) >= kMostInPlane) declined = "a picture has 2^31 elements or more";
    if (!declined.empty()) return nullptr;
    return std::make_unique<GridSampleKernel>(node, form);
  };
}

using Form = GridSampleKernel::Form;
const RegisterKernel kGridSample(op::kGridSample, "native", KernelPriority::kNative, factory(Form::kForward));
const RegisterKernel kGridSampleGrad(op::kGridSampleGrad, "native", KernelPriority::kNative, factory(Form::kPictures));
const RegisterKernel kGridSampleGradGrid(op::kGridSampleGradGrid, "native", KernelPriority::kNative,
                                         factory(Form::kGrid));

}  // namespace
}  // namespace thalweg
