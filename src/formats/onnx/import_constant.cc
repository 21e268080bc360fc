// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Operators whose results are known once the shapes are.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "formats/onnx/import_common.h"
#include "formats/onnx/tensor_data.h"
#include "tensor/dtype.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

Value* constant(const NodeContext& context) {
  if (context.has_attribute("value")) return context.constant(context.tensor("value"));
  if (context.has_attribute("value_float")) {
    return context.constant(Tensor::scalar<float>(static_cast<float>(context.real("value_float", 0.0))));
  }
  if (context.has_attribute("value_int")) {
    return context.constant(Tensor::scalar<int64_t>(context.integer("value_int", 0)));
  }
  if (context.has_attribute("value_floats")) {
    const std::vector<double> values = context.reals("value_floats");
    const Shape shape{static_cast<int64_t>(values.size())};
    return context.constant(Tensor::from<double>(shape, values).to(DType::kF32));
  }
  if (context.has_attribute("value_ints")) {
    const std::vector<int64_t> values = context.integers("value_ints");
    return context.constant(Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, values));
  }
  context.unsupported("a constant of text or of sparse elements is not supported");
}

Value* shape(const NodeContext& context) {
  const Shape x = static_shape(context, context.input(0));
  const int64_t rank = x.rank();
  const auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = bound(context.integer("start", 0));
  const int64_t end = std::max(start, bound(context.integer("end", rank)));
  const std::vector<int64_t> dims(x.begin() + start, x.begin() + end);
  return context.constant(Tensor::from<int64_t>({end - start}, dims));
}

Value* size(const NodeContext& context) {
  return context.constant(Tensor::scalar<int64_t>(static_shape(context, context.input(0)).num_elements()));
}

/// More elements than this are expanded when the graph runs.
constexpr int64_t kMaxStoredElements = 1 << 16;

Value* constant_of_shape(const NodeContext& context) {
  const std::vector<int64_t> dims = context.content_integers(0);
  for (const int64_t dim : dims) context.require(dim >= 0, "dimension ", dim, " is negative");
  const Shape shape(dims);
  Tensor value = context.tensor("value");
  if (!value.defined()) value = Tensor::scalar<float>(0.0F);
  context.require(value.num_elements() == 1, "the value must have one element, not shape ", value.shape());
  if (shape.num_elements() > kMaxStoredElements) return ops::expand(context.constant(value.reshaped({})), dims);
  Tensor result(value.dtype(), shape);
  dispatch(value.dtype(), [&](auto tag) {
    using T = decltype(tag);
    std::fill_n(result.data<T>(), result.num_elements(), value.data<T>()[0]);
  });
  return context.constant(result);
}

Value* range(const NodeContext& context) {
  const Tensor start = context.content(0), limit = context.content(1), step = context.content(2);
  context.require(start.num_elements() == 1 && limit.num_elements() == 1 && step.num_elements() == 1,
                  "start, limit and delta must be scalars");
  context.require(step.item() != 0, "delta is 0");
  const double count = std::max(0.0, std::ceil((limit.item() - start.item()) / step.item()));
  context.require(count < 1e9, "the range has ", count, " elements");
  const DType dtype = start.dtype();
  const bool two_bytes = dtype == DType::kF16 || dtype == DType::kBF16;
  const DType wide = two_bytes ? DType::kF32 : dtype;
  const Tensor from = start.to(wide), by = step.to(wide);
  Tensor result(wide, {static_cast<int64_t>(count)});
  dispatch_arithmetic(wide, [&](auto tag) {
    using T = decltype(tag);
    // Sums of integers wrap, in a type for which that is defined.
    using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
    const auto first = static_cast<Sum>(from.data<T>()[0]), delta = static_cast<Sum>(by.data<T>()[0]);
    for (int64_t i = 0; i < result.num_elements(); ++i) {
      result.data<T>()[i] = static_cast<T>(first + static_cast<Sum>(i) * delta);
    }
  });
  return context.constant(result.to(dtype));
}

Value* eye_like(const NodeContext& context) {
  const Shape shape = static_shape(context, context.input(0));
  context.require(shape.rank() == 2, "the input must have two dimensions, not ", shape);
  const int64_t k = std::clamp(context.integer("k", 0), -shape[0], shape[1]);
  Tensor result = Tensor::zeros(DType::kF32, shape);
  for (int64_t i = std::max<int64_t>(0, -k); i < shape[0] && i + k < shape[1]; ++i) {
    result.data<float>()[i * shape[1] + i + k] = 1.0F;
  }
  DType dtype = context.input(0)->dtype();
  if (context.has_attribute("dtype")) {
    const auto asked = dtype_of(static_cast<DataType>(context.integer("dtype", 1)));
    context.require(asked.has_value(), "the element type asked for is not supported");
    dtype = *asked;
  }
  return context.constant(result.to(dtype));
}

/// a0 - a1 cos + a2 cos of twice the angle, over a period of the size (or one less if symmetric).
Value* window(const NodeContext& context, double a0, double a1, double a2) {
  const int64_t size = context.content_integer(0);
  context.require(size >= 0, "a window of ", size, " elements");
  const auto period = static_cast<double>(context.flag("periodic", true) ? size : size - 1);
  Tensor values(DType::kF64, {size});
  for (int64_t i = 0; i < size; ++i) {
    const double angle = 2 * M_PI * static_cast<double>(i) / period;
    values.data<double>()[i] = a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
  }
  const auto type = static_cast<DataType>(context.integer("output_datatype", 1));
  const auto dtype = dtype_of(type);
  context.require(dtype.has_value(), "element type ", name_of(type), " is not supported");
  return context.constant(values.to(*dtype));
}

const RegisterConverters kConverters({
    {"Constant", single(constant)},
    {"Shape", single(shape)},
    {"Size", single(size)},
    {"ConstantOfShape", single(constant_of_shape)},
    {"Range", single(range)},
    {"EyeLike", single(eye_like)},
    {"HannWindow", single([](const NodeContext& context) { return window(context, 0.5, 0.5, 0.0); })},
    {"HammingWindow", single([](const NodeContext& context) { return window(context, 25.0 / 46, 21.0 / 46, 0.0); })},
    {"BlackmanWindow", single([](const NodeContext& context) { return window(context, 0.42, 0.5, 0.08); })},
});

}  // namespace
}  // namespace thalweg::onnx
