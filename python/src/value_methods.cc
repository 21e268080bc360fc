// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <sstream>

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

/// Of truth values, or of the bits of whole numbers.
using Binary = Value* (*)(Value*, Value*);
auto choose_logical(Binary logical, Binary bits) {
  return [logical, bits](Value* a, Value* b) { return a->dtype() == DType::kBool ? logical(a, b) : bits(a, b); };
}

std::string class_of(nb::handle object) { return nb::cast<std::string>(object.type().attr("__name__")); }

/// a == b or a != b, element by element.
nb::object compare(Value* a, nb::handle b, bool negate) {
  if (b.is_none()) return nb::bool_(negate);
  Operand operand;
  if (!nb::try_cast(b, operand)) {
    throw nb::type_error(
        ("a value of a graph is compared with values, numbers and arrays, not with a " + class_of(b)).c_str());
  }
  Value* equal = ops::equal(a, as_value(a, operand));
  return nb::cast(negate ? ops::logical_not(equal) : equal, nb::rv_policy::reference);
}

void bind_operators(ValueType& type) {
  def_operator(type, "add", [](Value* a, Value* b) { return ops::add(a, b); });
  def_operator(type, "sub", [](Value* a, Value* b) { return ops::sub(a, b); });
  def_operator(type, "mul", [](Value* a, Value* b) { return ops::mul(a, b); });
  def_operator(type, "truediv", [](Value* a, Value* b) { return ops::div(a, b); });
  def_operator(type, "pow", [](Value* a, Value* b) { return ops::pow(a, b); });
  def_operator(type, "matmul", [](Value* a, Value* b) { return ops::matmul(a, b); });
  def_operator(type, "mod", [](Value* a, Value* b) { return ops::modulo(a, b); });
  def_operator(type, "and", choose_logical(ops::logical_and, ops::bit_and));
  def_operator(type, "or", choose_logical(ops::logical_or, ops::bit_or));
  def_operator(type, "xor", choose_logical(ops::logical_xor, ops::bit_xor));
  def_method(type, "__invert__",
             [](Value* x) { return x->dtype() == DType::kBool ? ops::logical_not(x) : ops::bit_not(x); });
  def_method(type, "__neg__", ops::neg);
  def_method(
      type, "__eq__", [](Value* a, nb::handle b) { return compare(a, b, false); }, "other"_a.none());
  def_method(
      type, "__ne__", [](Value* a, nb::handle b) { return compare(a, b, true); }, "other"_a.none());
  // Values are told apart by what they are, although == compares what they will hold.
  type.attr("__hash__") = nb::module_::import_("builtins").attr("object").attr("__hash__");
  static constexpr std::pair<const char*, Value* (*)(Value*, Value*)> kComparisons[] = {
      {"__lt__", ops::less}, {"__le__", ops::less_equal}, {"__gt__", ops::greater}, {"__ge__", ops::greater_equal}};
  for (const auto& [name, function] : kComparisons) {
    const auto op = function;
    def_method(
        type, name, [op](Value* a, const Operand& b) { return op(a, as_value(a, b)); }, "other"_a, nb::is_operator());
  }
}

/// Collects what an index asks for: slices along axes and chosen places of one, then axes to drop and to insert.
struct Indexing {
  explicit Indexing(Value* value) : x(value) {}

  Value* x;
  Integers starts, ends, axes, steps, dropped, inserted;
  int axis = 0;

  void require_place(int64_t index) const {
    const int rank = x->shape().rank();
    if (axis >= rank) raise_index_error("there are more indices than dimensions of ", x->type());
    const int64_t size = x->shape()[axis];
    if (size != kFree && (index < -size || index >= size)) {
      raise_index_error("index ", index, " is outside dimension ", axis, " of ", x->type());
    }
  }

  void add_integer(int64_t index) {
    require_place(index);
    starts.push_back(index);
    ends.push_back(index == -1 ? std::numeric_limits<int64_t>::max() : index + 1);
    axes.push_back(axis);
    steps.push_back(1);
    dropped.push_back(axis++);
  }

  void add_slice(nb::handle slice) {
    const nb::object start = slice.attr("start"), stop = slice.attr("stop"), step = slice.attr("step");
    const int64_t stride = step.is_none() ? 1 : integer_from(step);
    const auto last = stride > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
    if (!start.is_none() || !stop.is_none() || stride != 1) {
      starts.push_back(start.is_none() ? (stride > 0 ? 0 : -1) : integer_from(start));
      ends.push_back(stop.is_none() ? last : integer_from(stop));
      axes.push_back(axis);
      steps.push_back(stride);
    }
    ++axis;
  }

  /// A list or array of whole numbers; it keeps the dimension, so those of the others stay where they are.
  void add_places(const Integers& places) {
    Tensor indices(DType::kI64, {static_cast<int64_t>(places.size())});
    for (size_t i = 0; i < places.size(); ++i) {
      require_place(places[i]);
      indices.data<int64_t>()[i] = places[i];
    }
    x = ops::gather(x, x->graph().constant(indices), axis++);
  }

  Value* apply() const {
    Value* result = x;
    if (!axes.empty()) result = ops::slice(result, starts, ends, axes, steps);
    if (!dropped.empty()) result = ops::squeeze(result, dropped);
    return inserted.empty() ? result : ops::unsqueeze(result, inserted);
  }

  static int64_t integer_from(nb::handle index) {
    if (PyIndex_Check(index.ptr()) == 0) throw nb::type_error(kAllowed);
    const Py_ssize_t number = PyNumber_AsSsize_t(index.ptr(), PyExc_IndexError);
    if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    return number;
  }

  template <typename... Args>
  [[noreturn]] static void raise_index_error(const Args&... args) {
    std::ostringstream text;
    (text << ... << args);
    throw nb::index_error(text.str().c_str());
  }

  static constexpr const char* kAllowed =
      "an index of a value is made of whole numbers, slices, None, ... and one list of whole numbers; "
      "thalweg.ops.where chooses by a condition, thalweg.ops.gather by another value";
};

/// The numbers of a list or of an array of one dimension.
bool places_from(nb::handle item, Integers& places) {
  if (nb::isinstance<Value>(item)) return false;
  const bool is_list = PyList_Check(item.ptr()) != 0;
  if (!is_list && !nb::getattr(item, "ndim", nb::none()).equal(nb::int_(1))) return false;
  for (const nb::handle place : item) {
    const bool is_truth = PyBool_Check(place.ptr()) != 0 || PyIndex_Check(place.ptr()) == 0;
    if (is_truth) throw nb::type_error(Indexing::kAllowed);
    places.push_back(Indexing::integer_from(place));
  }
  return true;
}

/// Python's indexing with whole numbers, slices, None, ... and a list of places.
Value* get_item(Value* x, nb::handle index) {
  const nb::tuple items = PyTuple_Check(index.ptr()) ? nb::borrow<nb::tuple>(index) : nb::make_tuple(index);
  int named = 0;
  for (const nb::handle item : items) named += item.is_none() || item.ptr() == Py_Ellipsis ? 0 : 1;
  Indexing indexing(x);
  bool has_places = false;
  for (const nb::handle item : items) {
    Integers places;
    if (item.is_none()) {
      const auto removed = static_cast<int64_t>(indexing.dropped.size());
      indexing.inserted.push_back(indexing.axis - removed + static_cast<int64_t>(indexing.inserted.size()));
    } else if (item.ptr() == Py_Ellipsis) {
      indexing.axis += x->shape().rank() - named;
    } else if (PySlice_Check(item.ptr())) {
      indexing.add_slice(item);
    } else if (!has_places && places_from(item, places)) {
      indexing.add_places(places);
      has_places = true;
    } else {
      indexing.add_integer(Indexing::integer_from(item));
    }
  }
  return indexing.apply();
}

int64_t length_of(const Value& x) {
  if (x.shape().rank() == 0) throw nb::type_error("a value without dimensions has no length");
  if (x.shape()[0] == kFree) {
    throw nb::type_error("the first dimension is free: its length is known only when the model runs");
  }
  return x.shape()[0];
}

nb::list parts_of(Value* x) {
  nb::list parts;
  for (int64_t i = 0; i < length_of(*x); ++i) {
    parts.append(nb::cast(get_item(x, nb::int_(i)), nb::rv_policy::reference));
  }
  return parts;
}

/// What would need the content of a value, of which there is none while a graph is built.
void bind_refusals(ValueType& type) {
  type.def("__bool__", [](const Value& /*x*/) -> bool {
    throw nb::type_error(
        "a value of a graph has no content while the graph is built, so nothing can be decided by it: "
        "use thalweg.ops.where(condition, a, b) in place of if, & | ~ in place of and, or, not");
  });
  type.def(
      "__array__",
      [](const Value& /*x*/, const nb::args& /*args*/, const nb::kwargs& /*options*/) -> nb::object {
        throw nb::type_error(
            "a value of a graph has no content while the graph is built, so numpy cannot use it: "
            "use its methods or thalweg.ops");
      },
      "args"_a, "options"_a);
  // numpy then leaves its operators to those of values.
  type.attr("__array_ufunc__") = nb::none();
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

Sizes sizes_from(const nb::args& args) {
  const bool several = args.size() != 1 || args[0].is_none() || PyIndex_Check(args[0].ptr()) != 0;
  Sizes sizes;
  if (nb::try_cast(several ? nb::object(nb::list(args)) : nb::borrow(args[0]), sizes)) return sizes;
  throw nb::type_error("a shape is made of whole numbers, and None for a free dimension");
}

void bind_shape_methods(ValueType& type) {
  def_method(type, "__getitem__", get_item, "index"_a.none());
  type.def("__len__", length_of);
  type.def("__iter__", [](Value* x) {
    const nb::list parts = parts_of(x);
    keep_graph_alive(parts);
    return nb::iter(parts);
  });
  type.def(
      "size",
      [](const Value& x, std::optional<int64_t> dim) -> nb::object {
        const nb::object shape = nb::cast(x.shape());
        return dim ? nb::object(shape[*dim]) : shape;
      },
      "dim"_a = nb::none(), "The shape, or one dimension of it; None if that is free.");
  for (const char* name : {"reshape", "view"}) {
    def_method(
        type, name, [](Value* x, const nb::args& shape) { return reshaped(x, sizes_from(shape)); }, "shape"_a,
        "None, as x.shape gives it, keeps the free dimension at that place; -1 takes what is left.");
  }
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
  bind_refusals(type);
  bind_shape_methods(type);
  bind_reductions(type);
}

}  // namespace thalweg::python
