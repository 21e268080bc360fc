// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Tensors of what is no number.
#include "thalweg/stored_types.h"

namespace thalweg::stored {
namespace {

/// The elements live in a vector that the tensor and its copies own together.
template <typename Element>
Tensor holding(DType dtype, Shape shape, std::vector<Element> elements) {
  TW_REQUIRE(shape.num_elements() == static_cast<int64_t>(elements.size()), "shape ", shape, " does not fit ",
             elements.size(), " elements");
  // One more, so that a tensor without elements has an address.
  elements.reserve(elements.size() + 1);
  auto owner = std::make_shared<std::vector<Element>>(std::move(elements));
  void* data = owner->data();
  return Tensor::borrow(dtype, std::move(shape), data, std::move(owner));
}

void require(const Tensor& tensor, DType dtype) {
  TW_REQUIRE(tensor.defined() && tensor.dtype() == dtype, "a value of type ", name_of(dtype), " is needed, not ",
             tensor.defined() ? tensor.type() : TensorType{kNothing, {}});
}

}  // namespace

bool is_object(DType dtype) { return dtype >= kText && dtype <= kNothing; }

Tensor texts(Shape shape, std::vector<std::string> elements) {
  return holding(kText, std::move(shape), std::move(elements));
}

const std::string* texts_of(const Tensor& tensor) {
  require(tensor, kText);
  return static_cast<const std::string*>(tensor.raw());
}

// A sequence is one element: the list. Its shape says how long the list is, for messages; what is inside has types of
// its own.
Tensor sequence(std::vector<Tensor> items) {
  auto owner = std::make_shared<std::vector<Tensor>>(std::move(items));
  const auto length = static_cast<int64_t>(owner->size());
  void* data = owner.get();
  return Tensor::borrow(kSequence, {length}, data, std::move(owner));
}

const std::vector<Tensor>& items_of(const Tensor& tensor) {
  require(tensor, kSequence);
  return *static_cast<const std::vector<Tensor>*>(tensor.raw());
}

Tensor nothing() { return holding<char>(kNothing, {0}, {}); }

}  // namespace thalweg::stored
