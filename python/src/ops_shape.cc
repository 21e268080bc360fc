// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops.h"

namespace thalweg::python {
namespace {

using Integers = std::vector<int64_t>;

void bind_moves(nb::module_& m) {
  def_op(m, "reshape", reshaped, "x"_a, "shape"_a,
         "0 copies the dimension at that place, None too if it is free; -1 takes what is left.");
  def_op(m, "flatten", ops::flatten, "x"_a, "axis"_a);
  def_op(m, "squeeze", ops::squeeze, "x"_a, "axes"_a);
  def_op(m, "unsqueeze", ops::unsqueeze, "x"_a, "axes"_a);
  def_op(m, "transpose", ops::transpose, "x"_a, "permutation"_a = Integers(),
         "Reverses all dimensions if there is none.");
  def_op(m, "concat", ops::concat, "parts"_a, "axis"_a);
  def_op(m, "split", ops::split, "x"_a, "sizes"_a, "axis"_a);
  def_op(m, "slice", ops::slice, "x"_a, "starts"_a, "ends"_a, "axes"_a, "steps"_a = Integers());
  def_op(m, "pad", ops::pad, "x"_a, "pads"_a, "mode"_a, "value"_a,
         "All begins, then all ends; mode: constant, reflect or edge.");
  def_op(m, "expand", ops::expand, "x"_a, "shape"_a);
  def_op(m, "sum_to", ops::sum_to, "x"_a, "shape"_a, "Sums over the dimensions in which the shape is 1 or absent.");
  def_op(m, "tile", ops::tile, "x"_a, "repeats"_a);
}

void bind_lookups(nb::module_& m) {
  def_op(m, "gather", ops::gather, "x"_a, "indices"_a, "axis"_a);
  def_op(m, "gather_elements", ops::gather_elements, "x"_a, "indices"_a, "axis"_a);
  def_op(m, "scatter_elements", ops::scatter_elements, "x"_a, "indices"_a, "updates"_a, "axis"_a,
         "accumulate"_a = false);
  def_op(
      m, "embedding",
      [](Value* table, Value* indices, std::optional<int64_t> padding_index) {
        return padding_index ? ops::embedding(table, indices, *padding_index) : ops::embedding(table, indices);
      },
      "table"_a, "indices"_a, "padding_index"_a = nb::none());
  def_op(m, "element_count", ops::element_count, "x"_a, "axes"_a = Integers());
  def_op(m, "stop_gradient", ops::stop_gradient, "x"_a, "x, through which no gradient passes.");
}

void bind_reductions(nb::module_& m) {
  using Reduction = Value* (*)(Value*, const Integers&, bool);
  static constexpr std::pair<const char*, Reduction> kReductions[] = {
      {"reduce_sum", ops::reduce_sum},   {"reduce_mean", ops::reduce_mean},
      {"reduce_max", ops::reduce_max},   {"reduce_min", ops::reduce_min},
      {"reduce_prod", ops::reduce_prod}, {"reduce_l1", ops::reduce_l1},
      {"reduce_l2", ops::reduce_l2},     {"reduce_log_sum_exp", ops::reduce_log_sum_exp}};
  for (const auto& [name, function] : kReductions) {
    def_op(m, name, function, "x"_a, "axes"_a = Integers(), "keep_dims"_a = false, "Over all axes if there are none.");
  }
  def_op(m, "arg_max", ops::arg_max, "x"_a, "axis"_a, "keep_dims"_a = false);
  def_op(m, "arg_min", ops::arg_min, "x"_a, "axis"_a, "keep_dims"_a = false);
  def_op(
      m, "top_k",
      [](Value* x, int64_t k, int64_t axis, bool largest) {
        const ops::TopK result = ops::top_k(x, k, axis, largest);
        return std::make_pair(result.values, result.indices);
      },
      "x"_a, "k"_a, "axis"_a, "largest"_a = true);
  def_op(m, "cumsum", ops::cumsum, "x"_a, "axis"_a, "exclusive"_a = false, "reverse"_a = false);
}

/// Complex numbers are pairs of values, of which the second is None for real ones.
void bind_transforms(nb::module_& m) {
  const ops::FourierOptions usual;
  def_op(
      m, "fourier",
      [](Value* real, Value* imaginary, int64_t length, int64_t kept, bool inverse) {
        const ops::Complex result = ops::fourier({real, imaginary}, {length, kept, inverse});
        return std::make_pair(result.real, result.imaginary);
      },
      "real"_a, "imaginary"_a.none() = nb::none(), nb::kw_only(), "length"_a = usual.length, "kept"_a = usual.kept,
      "inverse"_a = usual.inverse,
      "Discrete Fourier transform along the last dimension, of which the first `kept` results are given: (real, "
      "imaginary). Nothing is divided by the length.");
  def_op(
      m, "fourier_of_half",
      [](Value* real, Value* imaginary, int64_t length) {
        return ops::fourier_of_half({real, imaginary}, length);
      },
      "real"_a, "imaginary"_a, "length"_a, "The real numbers of which this is the first half of the spectrum.");
}

}  // namespace

Value* reshaped(Value* x, const Sizes& sizes) {
  Integers plain;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool free_here = static_cast<int>(i) < x->shape().rank() && x->shape()[static_cast<int>(i)] == kFree;
    plain.push_back(sizes[i].value_or(free_here ? 0 : -1));
  }
  if (std::count(plain.begin(), plain.end(), -1) > 1) {
    raise_input_error("reshape of ", x->type(),
                      ": of -1, and of None where no dimension is free, there can be only one");
  }
  return ops::reshape(x, plain);
}

void bind_shape_ops(nb::module_& ops) {
  bind_moves(ops);
  bind_lookups(ops);
  bind_reductions(ops);
  bind_transforms(ops);
}

}  // namespace thalweg::python
