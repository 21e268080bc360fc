// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Pools in the forms that the engine's kernels do not have: indices of the maxima, dilated means, and the way back.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/limits.h"
#include "graph/host_op.h"
#include "ops/window.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

Window read_window(const HostContext& call, const Shape& x) {
  TW_REQUIRE(x.rank() >= 3, "the input must be [N, C, spatial...], not ", x);
  const auto rank = static_cast<size_t>(x.rank() - 2);
  Window window;
  window.kernel = call.integers("kernel_shape");
  window.strides = call.integers("strides", std::vector<int64_t>(rank, 1));
  window.dilations = call.integers("dilations", std::vector<int64_t>(rank, 1));
  const std::vector<int64_t> pads = call.integers("pads", std::vector<int64_t>(2 * rank, 0));
  TW_REQUIRE(window.kernel.size() == rank && window.strides.size() == rank && window.dilations.size() == rank &&
                 pads.size() == 2 * rank,
             "kernel_shape, strides, dilations or pads do not fit ", rank, " spatial dimensions");
  window.begins.assign(pads.begin(), pads.begin() + static_cast<int64_t>(rank));
  window.ends.assign(pads.begin() + static_cast<int64_t>(rank), pads.end());
  const std::string padding = call.text("auto_pad", "NOTSET");
  for (size_t d = 0; d < rank; ++d) {
    for (const int64_t item : {window.kernel[d], window.strides[d], window.dilations[d]}) {
      TW_REQUIRE(item >= 1 && item <= kMostWindow, "kernel, strides and dilations must be between 1 and ", kMostWindow,
                 ", not ", item);
    }
    for (const int64_t pad : {window.begins[d], window.ends[d]}) {
      TW_REQUIRE(pad >= 0 && pad <= kMostWindow, "pads must be between 0 and ", kMostWindow, ", not ", pad);
    }
    if (padding != "SAME_UPPER" && padding != "SAME_LOWER") continue;
    const int64_t in = x[static_cast<int>(d) + 2];
    const int64_t out = (in + window.strides[d] - 1) / window.strides[d];
    const int64_t total = std::max<int64_t>(0, (out - 1) * window.strides[d] + window.reach(d) - in);
    window.begins[d] = padding == "SAME_UPPER" ? total / 2 : total - total / 2;
    window.ends[d] = total - window.begins[d];
  }
  return window;
}

std::vector<int64_t> output_sizes(const HostContext& call, const Window& window, const Shape& x) {
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < window.rank(); ++d) {
    const int64_t in = x[static_cast<int>(d) + 2];
    const int64_t room = in + window.begins[d] + window.ends[d] - window.reach(d);
    TW_REQUIRE(room >= 0, "the window is larger than spatial dimension ", d, " with its padding");
    int64_t out = room / window.strides[d] + 1;
    if (call.flag("ceil_mode", false) && room % window.strides[d] != 0 &&
        out * window.strides[d] < in + window.begins[d]) {
      ++out;
    }
    sizes.push_back(out);
  }
  return sizes;
}

/// Counts through all positions within `sizes`, the last one fastest.
bool advance(std::vector<int64_t>& position, const std::vector<int64_t>& sizes) {
  for (size_t d = sizes.size(); d-- > 0;) {
    if (++position[d] < sizes[d]) return true;
    position[d] = 0;
  }
  return false;
}

/// Calls `body(offset)` for every element under the window at `place`: its offset in the plane, -1 in the padding,
/// nothing at all beyond the padding.
template <typename Body>
void each_element(const Window& window, const std::vector<int64_t>& in, const std::vector<int64_t>& place, Body body) {
  std::vector<int64_t> tap(window.rank(), 0);
  do {
    int64_t offset = 0;
    bool inside = true, padded = true;
    for (size_t d = 0; d < window.rank(); ++d) {
      const int64_t at = place[d] * window.strides[d] - window.begins[d] + tap[d] * window.dilations[d];
      inside = inside && at >= 0 && at < in[d];
      padded = padded && at < in[d] + window.ends[d];
      offset = offset * in[d] + at;
    }
    if (padded) body(inside ? offset : -1);
    require_time();
  } while (advance(tap, window.kernel));
}

/// The planes of a pool's input and output.
struct Planes {
  explicit Planes(const HostContext& call)
      : window(read_window(call, call.input(0).shape())),
        in(call.input(0).shape().begin() + 2, call.input(0).shape().end()),
        out(output_sizes(call, window, call.input(0).shape())),
        count(call.input(0).shape().num_elements(0, 2)) {
    std::vector<int64_t> dims = {call.input(0).shape()[0], call.input(0).shape()[1]};
    dims.insert(dims.end(), out.begin(), out.end());
    result = Shape(dims);
  }
  Window window;
  std::vector<int64_t> in, out;
  int64_t count;
  Shape result;
};

/// `column_major` indices count the first spatial dimension fastest.
int64_t index_of(int64_t offset, const std::vector<int64_t>& in, bool column_major) {
  if (!column_major) return offset;
  int64_t index = 0, stride = std::accumulate(in.begin(), in.end(), int64_t{1}, std::multiplies<>());
  for (size_t d = in.size(); d-- > 0;) {
    stride /= in[d];
    index += offset % in[d] * stride;
    offset /= in[d];
  }
  return index;
}

std::vector<Tensor> max_pool(const HostContext& call) {
  const Planes planes(call);
  const Tensor& x = call.input(0);
  Tensor y(x.dtype(), planes.result), indices(DType::kI64, planes.result);
  const int64_t in_size = Shape(planes.in).num_elements();
  const bool column_major = call.integer("storage_order", 0) != 0;
  dispatch_arithmetic(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    int64_t at = 0;
    for (int64_t plane = 0; plane < planes.count; ++plane) {
      const T* values = x.data<T>() + plane * in_size;
      std::vector<int64_t> place(planes.out.size(), 0);
      do {
        int64_t best = -1;
        each_element(planes.window, planes.in, place, [&](int64_t offset) {
          if (offset >= 0 && (best < 0 || values[offset] > values[best])) best = offset;
        });
        TW_REQUIRE(best >= 0, "a window lies in the padding alone");
        y.data<T>()[at] = values[best];
        indices.data<int64_t>()[at++] = plane * in_size + index_of(best, planes.in, column_major);
      } while (advance(place, planes.out));
    }
  });
  return {y, indices};
}

/// Sums `power(value)` over each window; `finish(sum, elements)` makes the result. Padding counts as zeros if asked.
template <typename Power, typename Finish>
std::vector<Tensor> sum_pool(const HostContext& call, Power power, Finish finish) {
  const Planes planes(call);
  const Tensor x = call.input(0).to(DType::kF64);
  Tensor y(DType::kF64, planes.result);
  const int64_t in_size = Shape(planes.in).num_elements();
  const bool count_padding = call.flag("count_include_pad", false);
  int64_t at = 0;
  for (int64_t plane = 0; plane < planes.count; ++plane) {
    const double* values = x.data<double>() + plane * in_size;
    std::vector<int64_t> place(planes.out.size(), 0);
    do {
      double sum = 0, count = 0;
      each_element(planes.window, planes.in, place, [&](int64_t offset) {
        if (offset >= 0) sum += power(values[offset]);
        if (offset >= 0 || count_padding) ++count;
      });
      y.data<double>()[at++] = finish(sum, count);
    } while (advance(place, planes.out));
  }
  return {y.to(call.input(0).dtype())};
}

std::vector<Tensor> average_pool(const HostContext& call) {
  return sum_pool(
      call, [](double x) { return x; }, [](double sum, double count) { return count > 0 ? sum / count : 0.0; });
}

std::vector<Tensor> lp_pool(const HostContext& call) {
  const auto p = static_cast<double>(call.integer("p", 2));
  return sum_pool(
      call, [p](double x) { return std::pow(std::abs(x), p); },
      [p](double sum, double) { return std::pow(sum, 1 / p); });
}

std::vector<Tensor> max_unpool(const HostContext& call) {
  const Tensor& x = call.input(0);
  const Tensor& indices = call.input(1);
  TW_REQUIRE(indices.dtype() == DType::kI64 && indices.shape() == x.shape(), "indices must be i64 like the input");
  const Window window = read_window(call, x.shape());
  std::vector<int64_t> dims = {x.shape()[0], x.shape()[1]};
  for (size_t d = 0; d < window.rank(); ++d) {
    dims.push_back((x.shape()[static_cast<int>(d) + 2] - 1) * window.strides[d] - window.begins[d] - window.ends[d] +
                   window.reach(d));
  }
  const Shape natural(dims);
  const Shape shape = call.has(2) ? Shape(call.content_integers(2)) : natural;
  TW_REQUIRE(shape.rank() == natural.rank(), "the output shape ", shape, " does not fit");
  Tensor y = Tensor::zeros(x.dtype(), shape);
  const std::vector<int64_t> strides = shape.strides();
  dispatch_arithmetic(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      // Indices count in the shape that follows from the window, whatever the output is padded to.
      int64_t rest = indices.data<int64_t>()[i], offset = 0;
      TW_REQUIRE(rest >= 0 && rest < natural.num_elements(), "index ", rest, " lies outside of ", natural);
      for (int d = natural.rank(); d-- > 0;) {
        TW_REQUIRE(rest % natural[d] < shape[d], "index ", indices.data<int64_t>()[i], " lies outside of ", shape);
        offset += rest % natural[d] * strides[static_cast<size_t>(d)];
        rest /= natural[d];
      }
      y.data<T>()[offset] = x.data<T>()[i];
    }
  });
  return {y};
}

const RegisterHost kMaxPool("onnx.MaxPool", max_pool);
const RegisterHost kAveragePool("onnx.AveragePool", average_pool);
const RegisterHost kLpPool("onnx.LpPool", lp_pool);
const RegisterHost kMaxUnpool("onnx.MaxUnpool", max_unpool);

}  // namespace
}  // namespace thalweg
