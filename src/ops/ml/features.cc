// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What prepares features for classic models, composed of the engine's ops where they are numbers.
#include <cmath>
#include <limits>

#include "graph/compose.h"
#include "graph/host_op.h"
#include "thalweg/ops.h"
#include "thalweg/stored_types.h"

namespace thalweg {
namespace {

using Composed = std::vector<Value*>;

/// A list of numbers of an attribute, in f32: a vector, or one for all.
Value* vector_of(const ComposeContext& context, const std::string& name) {
  const std::vector<double> numbers = context.reals(name);
  return context.constant(Tensor::from<double>({static_cast<int64_t>(numbers.size())}, numbers).to(DType::kF32));
}

Composed scale(const ComposeContext& context) {
  Value* x = ops::cast(context.input(0), DType::kF32);
  if (!context.reals("offset").empty()) x = ops::sub(x, vector_of(context, "offset"));
  return {context.reals("scale").empty() ? x : ops::mul(x, vector_of(context, "scale"))};
}

Composed normalize(const ComposeContext& context) {
  Value* x = ops::cast(context.input(0), DType::kF32);
  const std::string norm = context.text("norm", "MAX");
  context.require(norm == "MAX" || norm == "L1" || norm == "L2", "unknown norm '", norm, "'");
  Value* length = norm == "L1"   ? ops::reduce_l1(x, {-1}, true)
                  : norm == "L2" ? ops::reduce_l2(x, {-1}, true)
                                 : ops::reduce_max(x, {-1}, true);
  // A row of zeros stays one.
  Value* none = ops::equal(length, ops::scalar_like(length, 0.0));
  return {ops::where(none, x, ops::div(x, length))};
}

Composed binarize(const ComposeContext& context) {
  Value* x = context.input(0);
  return {ops::cast(ops::greater(x, ops::scalar_like(x, context.real("threshold", 0.0))), x->dtype())};
}

/// Numbers that stand for missing ones, which may be NaN, are replaced: by one number, or one for each feature.
Composed impute(const ComposeContext& context) {
  Value* x = context.input(0);
  Value *known = nullptr, *missing = nullptr;
  if (is_floating(x->dtype())) {
    known = vector_of(context, "imputed_value_floats");
    const double replaced = context.real("replaced_value_float", std::numeric_limits<double>::quiet_NaN());
    missing = std::isnan(replaced) ? ops::logical_not(ops::equal(x, x)) : ops::equal(x, ops::scalar_like(x, replaced));
  } else {
    const std::vector<int64_t> numbers = context.integers("imputed_value_int64s");
    known = context.constant(Tensor::from<int64_t>({static_cast<int64_t>(numbers.size())}, numbers));
    const int64_t replaced = context.integer("replaced_value_int64", 0);
    missing = ops::equal(x, context.constant(Tensor::scalar<int64_t>(replaced).to(x->dtype())));
  }
  context.require(known->shape()[0] > 0, "there are no imputed values for ", name_of(x->dtype()));
  return {ops::where(missing, ops::cast(known, x->dtype()), x)};
}

/// Inputs side by side, each with so many features; those that are missing are 0.
Composed vectorize(const ComposeContext& context) {
  const std::vector<int64_t> widths = context.integers("inputdimensions");
  std::vector<Value*> parts;
  for (size_t i = 0; i < context.num_inputs(); ++i) {
    Value* part = ops::cast(context.input(i), DType::kF32);
    if (part->shape().rank() == 1) part = ops::reshape(part, {-1, 1});
    context.require(part->shape().rank() == 2 && part->shape().is_static(), "input ", i, " must be [N, C], not ",
                    part->shape());
    const int64_t own = part->shape()[1], width = i < widths.size() ? widths[i] : own;
    context.require(width >= 0 && width < kMostElements, "input ", i, " has ", width, " features");
    if (width > own) part = ops::pad(part, {0, 0, 0, width - own});
    if (width < own) part = ops::slice(part, {0}, {width}, {1});
    parts.push_back(part);
  }
  return {ops::concat(parts, 1)};
}

/// Some columns of the last dimension; a vector counts as a row.
Composed extract(const ComposeContext& context) {
  Value* x = context.input(0);
  if (x->shape().rank() == 1) x = ops::unsqueeze(x, {0});
  return {ops::gather(x, ops::reshape(ops::cast(context.input(1), DType::kI64), {-1}), x->shape().rank() - 1)};
}

/// One of the integers that are categories as a row with a 1 at its place.
Composed one_hot(const ComposeContext& context) {
  const std::vector<int64_t> categories = context.integers("cats_int64s");
  context.require(!categories.empty(), "numbers have no place among texts");
  context.require(context.flag("zeros", true), "categories that are unknown must give zeros");
  Value* known = context.constant(Tensor::from<int64_t>({static_cast<int64_t>(categories.size())}, categories));
  Value* x = ops::cast(context.input(0), DType::kI64);
  return {ops::cast(ops::equal(ops::unsqueeze(x, {-1}), known), DType::kF32)};
}

std::vector<Tensor> one_hot_texts(const HostContext& call) {
  const Tensor& x = call.input(0);
  const std::vector<std::string> categories = call.attrs().texts("cats_strings");
  const auto width = static_cast<int64_t>(categories.size());
  std::vector<int64_t> dims = x.shape().dims();
  dims.push_back(width);
  Tensor result = Tensor::zeros(DType::kF32, Shape(std::move(dims)));
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    bool found = false;
    for (int64_t c = 0; c < width && !found; ++c) {
      found = categories[static_cast<size_t>(c)] == stored::texts_of(x)[i];
      if (found) result.data<float>()[i * width + c] = 1.0F;
    }
    TW_REQUIRE(found || call.flag("zeros", true), "'", stored::texts_of(x)[i], "' is no category");
  }
  return {result};
}

/// The scores of classes, [N, classes], as they are: maps from names to scores are not made of them.
Composed zip_map(const ComposeContext& context) { return {context.input(0)}; }

const RegisterComposed kScaler("ai.onnx.ml.Scaler", scale);
const RegisterComposed kNormalizer("ai.onnx.ml.Normalizer", normalize);
const RegisterComposed kBinarizer("ai.onnx.ml.Binarizer", binarize);
const RegisterComposed kImputer("ai.onnx.ml.Imputer", impute);
const RegisterComposed kFeatureVectorizer("ai.onnx.ml.FeatureVectorizer", vectorize);
const RegisterComposed kArrayFeatureExtractor("ai.onnx.ml.ArrayFeatureExtractor", extract);
const RegisterComposed kOneHot("ai.onnx.ml.OneHotEncoder", one_hot);
const RegisterHost kOneHotTexts("ai.onnx.ml.OneHotEncoder", one_hot_texts);
const RegisterComposed kZipMap("ai.onnx.ml.ZipMap", zip_map);

}  // namespace
}  // namespace thalweg
