// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Tensors of the C interface and ours.
#include "capi/result.h"
#include "thalweg/stored_types.h"

namespace thalweg::capi {
namespace {

/// Sequences inside sequences.
constexpr int kMostDepth = 16;

Tensor texts_from(const tw_tensor& given, const Shape& shape) {
  const auto* texts = static_cast<const tw_text*>(given.data);
  std::vector<std::string> elements;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    TW_REQUIRE(texts[i].bytes != nullptr || texts[i].size == 0, "text ", i, " is a null pointer");
    elements.emplace_back(texts[i].size > 0 ? std::string(texts[i].bytes, texts[i].size) : std::string());
  }
  return stored::texts(shape, std::move(elements));
}

Tensor tensor_from(const tw_tensor& given, int depth) {
  TW_REQUIRE(given.dtype >= TW_F32 && given.dtype <= TW_NOTHING, "element type ", given.dtype, " is unknown");
  if (given.dtype == TW_NOTHING) return stored::nothing();
  TW_REQUIRE(given.rank >= 0 && (given.rank == 0 || given.dims != nullptr), "there are no dimensions");
  std::vector<int64_t> dims(given.dims, given.dims + given.rank);
  for (const int64_t dim : dims) TW_REQUIRE(dim >= 0, "dimension ", dim, " is negative");
  const Shape shape(std::move(dims));
  const auto dtype = static_cast<DType>(given.dtype);
  TW_REQUIRE(given.data != nullptr || shape.num_elements() == 0, "the data is a null pointer");
  if (dtype == stored::kText) return texts_from(given, shape);
  if (dtype == stored::kSequence) {
    TW_REQUIRE(given.rank == 1 && depth < kMostDepth, "a sequence has one dimension, and is not nested more than ",
               kMostDepth, " deep");
    std::vector<Tensor> items;
    for (int64_t i = 0; i < given.dims[0]; ++i) {
      items.push_back(tensor_from(static_cast<const tw_tensor*>(given.data)[i], depth + 1));
    }
    return stored::sequence(std::move(items));
  }
  return shape.num_elements() == 0 ? Tensor(dtype, shape) : Tensor::borrow(dtype, shape, given.data, nullptr);
}

}  // namespace

std::vector<Tensor> tensors_from(const tw_tensor* given, size_t count) {
  TW_REQUIRE(given != nullptr || count == 0, "the inputs are a null pointer");
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < count; ++i) {
    try {
      tensors.push_back(tensor_from(given[i], 0));
    } catch (const Error& error) {
      raise("input ", i, ": ", error.what());
    }
  }
  return tensors;
}

tw_tensor view_of(const Tensor& tensor, tw_views& views) {
  const Shape& shape = tensor.shape();
  tw_tensor view{static_cast<int32_t>(tensor.dtype()), shape.rank(), shape.dims().data(), tensor.raw()};
  if (tensor.dtype() == stored::kText) {
    std::vector<tw_text>& texts = views.texts.emplace_back();
    const std::string* elements = stored::texts_of(tensor);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) texts.push_back({elements[i].data(), elements[i].size()});
    view.data = texts.data();
  } else if (tensor.dtype() == stored::kSequence) {
    std::vector<tw_tensor> items;
    for (const Tensor& item : stored::items_of(tensor)) items.push_back(view_of(item, views));
    view.data = views.items.emplace_back(std::move(items)).data();
  }
  return view;
}

}  // namespace thalweg::capi
