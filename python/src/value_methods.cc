// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops.h"

namespace thalweg::python {
namespace {

using Integers = std::vector<int64_t>;

using ValueType = nb::class_<Value>;

template <typename Function, typename... Extra>
void def_method(ValueType& type, const char* name, Function function, const Extra&... extra) {
  type.def(name, function, extra..., nb::rv_policy::reference, nb::call_policy<KeepGraph>());
}

/// x op y, and y op x for a y that is no value.
template <typename Op>
void def_operator(ValueType& type, const std::string& name, Op op) {
  def_method(
      type, ("__" + name + "__").c_str(), [op](Value* a, const Operand& b) { return op(a, as_value(a, b)); }, "other"_a,
      nb::is_operator());
  def_method(
      type, ("__r" + name + "__").c_str(), [op](Value* b, const Operand& a) { return op(as_value(b, a), b); },
      "other"_a, nb::is_operator());
}

void bind_operators(ValueType& type) {
  def_operator(type, "add", [](Value* a, Value* b) { return ops::add(a, b); });
  def_operator(type, "sub", [](Value* a, Value* b) { return ops::sub(a, b); });
  def_operator(type, "mul", [](Value* a, Value* b) { return ops::mul(a, b); });
  def_operator(type, "truediv", [](Value* a, Value* b) { return ops::div(a, b); });
  def_operator(type, "pow", [](Value* a, Value* b) { return ops::pow(a, b); });
  def_operator(type, "matmul", [](Value* a, Value* b) { return ops::matmul(a, b); });
  def_operator(type, "mod", [](Value* a, Value* b) { return ops::modulo(a, b); });
  def_method(type, "__neg__", ops::neg);
  static constexpr std::pair<const char*, Value* (*)(Value*, Value*)> kComparisons[] = {
      {"__lt__", ops::less}, {"__le__", ops::less_equal}, {"__gt__", ops::greater}, {"__ge__", ops::greater_equal}};
  for (const auto& [name, function] : kComparisons) {
    const auto op = function;
    def_method(
        type, name, [op](Value* a, const Operand& b) { return op(a, as_value(a, b)); }, "other"_a, nb::is_operator());
  }
}

/// Collects what an index asks for: slices along axes, then axes to drop and to insert.
struct Indexing {
  Integers starts, ends, axes, steps, dropped, inserted;
  int axis = 0;

  void add_integer(int64_t index) {
    starts.push_back(index);
    ends.push_back(index == -1 ? std::numeric_limits<int64_t>::max() : index + 1);
    axes.push_back(axis);
    steps.push_back(1);
    dropped.push_back(axis++);
  }

  void add_slice(nb::handle slice) {
    const nb::object start = slice.attr("start"), stop = slice.attr("stop"), step = slice.attr("step");
    const int64_t stride = step.is_none() ? 1 : nb::cast<int64_t>(step);
    const auto last = stride > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
    if (!start.is_none() || !stop.is_none() || stride != 1) {
      starts.push_back(start.is_none() ? (stride > 0 ? 0 : -1) : nb::cast<int64_t>(start));
      ends.push_back(stop.is_none() ? last : nb::cast<int64_t>(stop));
      axes.push_back(axis);
      steps.push_back(stride);
    }
    ++axis;
  }

  Value* apply(Value* x) const {
    if (!axes.empty()) x = ops::slice(x, starts, ends, axes, steps);
    if (!dropped.empty()) x = ops::squeeze(x, dropped);
    return inserted.empty() ? x : ops::unsqueeze(x, inserted);
  }
};

/// Python's indexing with whole numbers, slices, None and ....
Value* get_item(Value* x, nb::handle index) {
  const nb::tuple items = PyTuple_Check(index.ptr()) ? nb::borrow<nb::tuple>(index) : nb::make_tuple(index);
  int named = 0;
  for (const nb::handle item : items) named += item.is_none() || item.ptr() == Py_Ellipsis ? 0 : 1;
  Indexing indexing;
  for (const nb::handle item : items) {
    if (item.is_none()) {
      const auto removed = static_cast<int64_t>(indexing.dropped.size());
      indexing.inserted.push_back(indexing.axis - removed + static_cast<int64_t>(indexing.inserted.size()));
    } else if (item.ptr() == Py_Ellipsis) {
      indexing.axis += x->shape().rank() - named;
    } else if (PySlice_Check(item.ptr())) {
      indexing.add_slice(item);
    } else {
      indexing.add_integer(nb::cast<int64_t>(item));
    }
  }
  return indexing.apply(x);
}

/// One axis, several or (None) all.
using Axes = std::optional<std::variant<int64_t, Integers>>;
Integers axes_from(const Axes& axes) {
  if (!axes.has_value()) return {};
  if (const auto* one = std::get_if<int64_t>(&*axes)) return {*one};
  return std::get<Integers>(*axes);
}

Value* swap_dimensions(Value* x, int64_t first, int64_t second) {
  Integers order(static_cast<size_t>(x->shape().rank()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  const auto place = [&](int64_t axis) { return static_cast<size_t>(axis < 0 ? axis + x->shape().rank() : axis); };
  if (place(first) >= order.size() || place(second) >= order.size()) {
    raise_input_error("transpose(", first, ", ", second, ") of ", x->type());
  }
  std::swap(order[place(first)], order[place(second)]);
  return ops::transpose(x, order);
}

Integers integers_from(const nb::args& args) {
  if (args.size() == 1 && !PyLong_Check(args[0].ptr())) return nb::cast<Integers>(args[0]);
  return nb::cast<Integers>(nb::list(args));
}

void bind_shape_methods(ValueType& type) {
  def_method(type, "__getitem__", get_item, "index"_a.none());
  def_method(
      type, "reshape", [](Value* x, const nb::args& shape) { return ops::reshape(x, integers_from(shape)); },
      "shape"_a);
  def_method(
      type, "permute", [](Value* x, const nb::args& dims) { return ops::transpose(x, integers_from(dims)); }, "dims"_a);
  def_method(type, "transpose", swap_dimensions, "dim0"_a, "dim1"_a);
  def_method(type, "flatten", ops::flatten, "start_dim"_a);
  def_method(
      type, "squeeze", [](Value* x, int64_t dim) { return ops::squeeze(x, {dim}); }, "dim"_a);
  def_method(
      type, "unsqueeze", [](Value* x, int64_t dim) { return ops::unsqueeze(x, {dim}); }, "dim"_a);
  def_method(type, "to", ops::cast, "dtype"_a);
}

void bind_reductions(ValueType& type) {
  using Reduction = Value* (*)(Value*, const Integers&, bool);
  static constexpr std::pair<const char*, Reduction> kReductions[] = {
      {"sum", ops::reduce_sum}, {"mean", ops::reduce_mean}, {"amax", ops::reduce_max}, {"amin", ops::reduce_min}};
  for (const auto& [name, function] : kReductions) {
    const Reduction op = function;
    def_method(
        type, name, [op](Value* x, const Axes& dim, bool keepdim) { return op(x, axes_from(dim), keepdim); },
        "dim"_a = nb::none(), "keepdim"_a = false);
  }
  static constexpr std::pair<const char*, Value* (*)(Value*)> kFunctions[] = {
      {"sigmoid", ops::sigmoid}, {"tanh", ops::tanh}, {"exp", ops::exp},    {"log", ops::log},
      {"sqrt", ops::sqrt},       {"abs", ops::abs},   {"__abs__", ops::abs}};
  for (const auto& [name, function] : kFunctions) def_method(type, name, function);
  def_method(type, "relu", [](Value* x) { return ops::relu(x); });
  def_method(
      type, "softmax", [](Value* x, int64_t dim) { return ops::softmax(x, dim); }, "dim"_a);
}

}  // namespace

void bind_value_methods(nb::module_& module) {
  auto type = nb::borrow<ValueType>(module.attr("Value"));
  bind_operators(type);
  bind_shape_methods(type);
  bind_reductions(type);
}

}  // namespace thalweg::python
