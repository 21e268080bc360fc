// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// LabelEncoder and CategoryMapper: values by keys, each texts or numbers.
#include <cmath>
#include <map>
#include <optional>

#include "graph/host_op.h"
#include "thalweg/stored_types.h"

namespace thalweg {
namespace {

/// A list of keys or of values, in an attribute of one of several names.
Tensor listed(const HostContext& call, const std::string& what) {
  const Attributes& attrs = call.attrs();
  if (const Tensor tensor = attrs.tensor(what + "_tensor"); tensor.defined()) {
    return tensor.reshaped({tensor.num_elements()});
  }
  if (const auto texts = attrs.texts(what + "_strings"); !texts.empty()) {
    return stored::texts({static_cast<int64_t>(texts.size())}, texts);
  }
  if (const auto integers = attrs.integers(what + "_int64s"); !integers.empty()) {
    return Tensor::from<int64_t>({static_cast<int64_t>(integers.size())}, integers);
  }
  const std::vector<double> reals = attrs.reals(what + "_floats");
  TW_REQUIRE(!reals.empty(), "there are no ", what, "s");
  return Tensor::from<double>({static_cast<int64_t>(reals.size())}, reals).to(DType::kF32);
}

/// What a key that is not listed becomes, of the type of the values.
Tensor fallback(const HostContext& call, DType dtype) {
  const Attributes& attrs = call.attrs();
  if (const Tensor tensor = attrs.tensor("default_tensor"); tensor.defined()) {
    TW_REQUIRE(tensor.num_elements() == 1 && tensor.dtype() == dtype, "the default_tensor is no single ", dtype);
    return tensor.reshaped({1});
  }
  if (dtype == stored::kText) return stored::texts({1}, {attrs.text("default_string", "_Unused")});
  if (is_floating(dtype)) return Tensor::from<double>({1}, {attrs.real("default_float", -0.0)}).to(dtype);
  return Tensor::from<int64_t>({1}, {attrs.integer("default_int64", -1)}).to(dtype);
}

/// Where each element of x is among the keys; nothing for those that are not.
template <typename Key, typename Read>
std::vector<std::optional<int64_t>> places(const Tensor& keys, const Tensor& x, Read read) {
  std::map<Key, int64_t> known;
  for (int64_t i = 0; i < keys.num_elements(); ++i) known.emplace(read(keys, i), i);
  std::vector<std::optional<int64_t>> found;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const auto place = known.find(read(x, i));
    found.push_back(place != known.end() ? std::optional<int64_t>(place->second) : std::nullopt);
  }
  return found;
}

/// NaN is a key like others.
struct Real {
  double value;
  bool operator<(const Real& other) const {
    if (std::isnan(value) || std::isnan(other.value)) return !std::isnan(value) && std::isnan(other.value);
    return value < other.value;
  }
};

std::vector<std::optional<int64_t>> places_of(const Tensor& keys, const Tensor& x) {
  if (keys.dtype() == stored::kText) {
    return places<std::string>(keys, x, [](const Tensor& t, int64_t i) { return stored::texts_of(t)[i]; });
  }
  TW_REQUIRE(x.dtype() != stored::kText, "keys are ", keys.dtype(), " and the input is text");
  if (is_floating(keys.dtype()) || is_floating(x.dtype())) {
    return places<Real>(keys.to(DType::kF64), x.to(DType::kF64),
                        [](const Tensor& t, int64_t i) { return Real{t.data<double>()[i]}; });
  }
  return places<int64_t>(keys.to(DType::kI64), x.to(DType::kI64),
                         [](const Tensor& t, int64_t i) { return t.data<int64_t>()[i]; });
}

Tensor looked_up(const Tensor& values, const Tensor& missing, const std::vector<std::optional<int64_t>>& places,
                 const Shape& shape) {
  if (values.dtype() == stored::kText) {
    std::vector<std::string> texts;
    for (const auto& place : places) {
      texts.push_back(place.has_value() ? stored::texts_of(values)[*place] : stored::texts_of(missing)[0]);
    }
    return stored::texts(shape, std::move(texts));
  }
  const Tensor wide = values.to(DType::kF64), exact = values.to(DType::kI64);
  const bool real = is_floating(values.dtype());
  Tensor result(real ? DType::kF64 : DType::kI64, shape);
  for (size_t i = 0; i < places.size(); ++i) {
    if (real) {
      result.data<double>()[i] = places[i].has_value() ? wide.data<double>()[*places[i]] : missing.item();
    } else {
      result.data<int64_t>()[i] =
          places[i].has_value() ? exact.data<int64_t>()[*places[i]] : missing.to(DType::kI64).data<int64_t>()[0];
    }
  }
  return result.to(values.dtype());
}

/// Version 1 had a list of texts alone, whose numbers are their places.
std::vector<Tensor> encode(const HostContext& call) {
  const Tensor& x = call.input(0);
  Tensor keys, values;
  if (const auto classes = call.attrs().texts("classes_strings"); !classes.empty()) {
    std::vector<int64_t> numbers(classes.size());
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
    keys = stored::texts({static_cast<int64_t>(classes.size())}, classes);
    values = Tensor::from<int64_t>(keys.shape(), numbers);
    if (x.dtype() != stored::kText) std::swap(keys, values);
  } else {
    keys = listed(call, "keys");
    values = listed(call, "values");
  }
  TW_REQUIRE(keys.num_elements() == values.num_elements(), "there are ", keys.num_elements(), " keys and ",
             values.num_elements(), " values");
  return {looked_up(values, fallback(call, values.dtype()), places_of(keys, x), x.shape())};
}

/// Between texts and integers, whichever the input is not.
std::vector<Tensor> map_categories(const HostContext& call) {
  const Tensor& x = call.input(0);
  const std::vector<std::string> texts = call.attrs().texts("cats_strings");
  const std::vector<int64_t> integers = call.integers("cats_int64s");
  TW_REQUIRE(texts.size() == integers.size(), "there are ", texts.size(), " texts and ", integers.size(), " integers");
  Tensor keys = stored::texts({static_cast<int64_t>(texts.size())}, texts);
  Tensor values = Tensor::from<int64_t>(keys.shape(), integers);
  if (x.dtype() != stored::kText) std::swap(keys, values);
  return {looked_up(values, fallback(call, values.dtype()), places_of(keys, x), x.shape())};
}

const RegisterHost kLabelEncoder("ai.onnx.ml.LabelEncoder", encode);
const RegisterHost kCategoryMapper("ai.onnx.ml.CategoryMapper", map_categories);

}  // namespace
}  // namespace thalweg
