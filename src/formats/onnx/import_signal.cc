// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Fourier transforms, and what spectra are made into; columns put back into pictures.
#include <cmath>
#include <functional>

#include "formats/onnx/import_common.h"
#include "formats/onnx/tensor_data.h"
#include "ops/window.h"
#include "thalweg/ops.h"
#include "thalweg/ops/signal.h"

namespace thalweg::onnx {
namespace {

using ops::Complex;

Complex each(const Complex& x, const std::function<Value*(Value*)>& change) {
  return {change(x.real), x.imaginary != nullptr ? change(x.imaginary) : nullptr};
}

/// The last dimension, of 1 or 2, as real and imaginary parts.
Complex taken_apart(Value* x) {
  Value* real = ops::squeeze(ops::slice(x, {0}, {1}, {-1}), {-1});
  if (x->shape()[-1] == 1) return {real, nullptr};
  return {real, ops::squeeze(ops::slice(x, {1}, {2}, {-1}), {-1})};
}

Value* put_together(const Complex& y) {
  return ops::concat({ops::unsqueeze(y.real, {-1}), ops::unsqueeze(y.imaginary, {-1})}, y.real->shape().rank());
}

Value* dft(const NodeContext& context) {
  Value* x = context.input(0);
  Shape shape = static_shape(context, x);
  const int rank = shape.rank();
  context.require(rank >= 2 && (shape[-1] == 1 || shape[-1] == 2) && shape.num_elements() > 0,
                  "the input must be [..., N, 1 or 2], not ", shape);
  const bool inverse = context.flag("inverse", false), half = context.flag("onesided", false);
  const bool old = context.opset() < 20;
  int64_t axis = old ? context.integer("axis", 1) : context.has(2) ? context.content_integer(2) : -2;
  axis = normal_axis(context, axis, rank);
  context.require(axis < rank - 1, "the axis is that of the parts of complex numbers");
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank - 1; ++d) {
    if (d != axis) order.push_back(d);
  }
  order.push_back(axis);
  order.push_back(rank - 1);
  const int64_t own = shape[static_cast<int>(axis)];
  const int64_t usual = inverse && half ? 2 * (own - 1) : own;
  const int64_t length = context.has(1) ? context.content_integer(1) : usual;
  context.require(length > 0, "a transform of length ", length);
  const Complex parts = taken_apart(ops::transpose(x, order));
  Value* y = nullptr;
  if (inverse && half) {
    y = ops::unsqueeze(ops::fourier_of_half(parts, length), {-1});
  } else {
    const int64_t kept = half ? length / 2 + 1 : length;
    y = put_together(ops::fourier(parts, {.length = length, .kept = kept, .inverse = inverse}));
  }
  if (inverse) y = ops::div(y, static_cast<double>(length));
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return ops::transpose(y, back);
}

/// Frames of a signal, [B, N, 1 or 2], that begin `step` apart, each multiplied by a window and transformed.
Value* stft(const NodeContext& context) {
  Value* signal = context.input(0);
  Shape shape = static_shape(context, signal);
  if (shape.rank() == 2) {
    signal = ops::unsqueeze(signal, {2});
    shape = signal->shape();
  }
  context.require(shape.rank() == 3 && (shape[2] == 1 || shape[2] == 2), "the signal must be [B, N, 1 or 2], not ",
                  shape);
  const int64_t step = context.content_integer(1);
  int64_t length = shape[1];
  if (context.has(2)) length = static_shape(context, context.input(2)).num_elements();
  if (context.has(3)) length = context.content_integer(3);
  context.require(step > 0 && length > 0 && length <= shape[1], "frames of ", length, " by steps of ", step,
                  " do not fit a signal of ", shape[1]);
  const int64_t frames = (shape[1] - length) / step + 1;
  Tensor places(DType::kI64, {frames, length});
  for (int64_t i = 0; i < places.num_elements(); ++i) places.data<int64_t>()[i] = i / length * step + i % length;
  Complex parts = taken_apart(ops::gather(signal, context.constant(places), 1));
  if (context.has(2)) {
    context.require(context.input(2)->shape() == Shape{length}, "the window of shape ", context.input(2)->shape(),
                    " does not fit frames of ", length);
    Value* window = ops::cast(context.input(2), signal->dtype());
    parts = each(parts, [&](Value* v) { return ops::mul(v, window); });
  }
  const int64_t kept = context.flag("onesided", true) ? length / 2 + 1 : length;
  return put_together(ops::fourier(parts, {.kept = kept}));
}

double mel_of(double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); }
double hertz_of(double mel) { return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0); }

/// Triangles of equal width on the scale of mel, over the bins of a spectrum.
Value* mel_weight_matrix(const NodeContext& context) {
  const int64_t bins = context.content_integer(0), length = context.content_integer(1);
  const int64_t rate = context.content_integer(2);
  const double low = mel_of(context.content_number(3)), high = mel_of(context.content_number(4));
  const int64_t rows = length / 2 + 1;
  context.require(bins > 0 && length > 0 && rate > 0 && bins < (int64_t{1} << 20) && rows < (int64_t{1} << 20), bins,
                  " bins of a transform of ", length, " at ", rate, " Hz");
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = hertz_of(low + static_cast<double>(i) * (high - low) / static_cast<double>(bins + 2));
    edges.push_back(
        static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  Tensor matrix = Tensor::zeros(DType::kF64, {rows, bins});
  const auto set = [&](int64_t row, int64_t bin, double value) {
    if (row >= 0 && row < rows) matrix.data<double>()[row * bins + bin] = value;
  };
  for (int64_t i = 0; i < bins; ++i) {
    const int64_t first = edges[static_cast<size_t>(i)], middle = edges[static_cast<size_t>(i) + 1];
    const int64_t last = edges[static_cast<size_t>(i) + 2];
    if (middle == first) set(middle, i, 1.0);
    for (int64_t row = std::max<int64_t>(first, 0); row <= std::min(middle, rows - 1) && middle > first; ++row) {
      set(row, i, static_cast<double>(row - first) / static_cast<double>(middle - first));
    }
    for (int64_t row = std::max<int64_t>(middle, 0); row < std::min(last, rows) && last > middle; ++row) {
      set(row, i, static_cast<double>(last - row) / static_cast<double>(last - middle));
    }
  }
  const auto dtype = dtype_of(static_cast<DataType>(context.integer("output_datatype", 1)));
  context.require(dtype.has_value(), "the output_datatype is not supported");
  return context.constant(matrix.to(*dtype));
}

/// Where each element of each column lies in the padded picture.
Tensor column_places(const WindowAttributes& window, const std::vector<int64_t>& padded,
                     const std::vector<int64_t>& counts, int64_t taps, int64_t columns) {
  Tensor places(DType::kI64, {taps * columns});
  for (int64_t i = 0; i < taps * columns; ++i) {
    int64_t tap = i / columns, column = i % columns, place = 0, stride = 1;
    for (size_t d = window.kernel.size(); d-- > 0;) {
      place += stride * (column % counts[d] * window.strides[d] + tap % window.kernel[d] * window.dilations[d]);
      column /= counts[d];
      tap /= window.kernel[d];
      stride *= padded[d];
    }
    places.data<int64_t>()[i] = place;
  }
  return places;
}

/// Columns, [N, C * taps, L], added up where they were taken from.
Value* col2im(const NodeContext& context) {
  Value* x = context.input(0);
  const Shape shape = static_shape(context, x);
  const std::vector<int64_t> image = context.content_integers(1), block = context.content_integers(2);
  const size_t rank = image.size();
  context.require(rank >= 1 && rank <= 5 && block.size() == rank && shape.rank() == 3, "columns of shape ", shape,
                  " do not fit a picture of ", rank, " dimensions and blocks of ", block.size());
  std::vector<int64_t> like = {1, 1};
  like.insert(like.end(), image.begin(), image.end());
  const WindowAttributes window = read_window(context, Shape(like), block);
  std::vector<int64_t> padded, counts;
  int64_t taps = 1, columns = 1, elements = 1;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t before = window.pads[d], after = window.pads[rank + d];
    context.require(image[d] > 0 && image[d] <= kMostWindow && before >= 0 && before <= kMostWindow && after >= 0 &&
                        after <= kMostWindow && block[d] <= kMostWindow,
                    "dimension ", d, " of the picture is ", image[d], " with padding ", before, " and ", after);
    padded.push_back(image[d] + before + after);
    const int64_t room = padded[d] - (window.kernel[d] - 1) * window.dilations[d] - 1;
    context.require(room >= 0, "a block is larger than dimension ", d, " of the picture");
    counts.push_back(room / window.strides[d] + 1);
    taps *= block[d];
    columns *= counts[d];
    elements *= padded[d];
    context.require(elements < kMostElements && taps < kMostElements, "the picture is too large");
  }
  context.require(shape[2] == columns && shape[1] % taps == 0, "columns of shape ", shape, " do not fit ", columns,
                  " places of ", taps, " elements");
  const int64_t channels = shape[1] / taps;
  Value* places = context.constant(column_places(window, padded, counts, taps, columns));
  places = ops::expand(ops::reshape(places, {1, 1, taps * columns}), {shape[0], channels, taps * columns});
  Value* zeros = ops::expand(ops::scalar_like(x, 0.0), {shape[0], channels, elements});
  Value* y = ops::scatter_elements(zeros, places, ops::reshape(x, {shape[0], channels, taps * columns}), 2, true);
  std::vector<int64_t> dims = {shape[0], channels}, starts, ends, axes;
  for (size_t d = 0; d < rank; ++d) {
    dims.push_back(padded[d]);
    starts.push_back(window.pads[d]);
    ends.push_back(window.pads[d] + image[d]);
    axes.push_back(static_cast<int64_t>(d) + 2);
  }
  return ops::slice(ops::reshape(y, dims), starts, ends, axes);
}

const RegisterConverters kConverters({
    {"DFT", single(dft)},
    {"STFT", single(stft)},
    {"MelWeightMatrix", single(mel_weight_matrix)},
    {"Col2Im", single(col2im)},
});

}  // namespace
}  // namespace thalweg::onnx
