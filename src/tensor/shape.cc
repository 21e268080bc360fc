// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor.h"

namespace thalweg {

int Shape::normalize(int index) const {
  const int positive = index < 0 ? index + rank() : index;
  TW_REQUIRE(positive >= 0 && positive < rank(), "dimension ", index, " of shape ", to_string(), " does not exist");
  return positive;
}

bool Shape::is_static() const {
  for (int64_t dim : dims_) {
    if (dim < 0) return false;
  }
  return true;
}

int64_t Shape::num_elements() const { return num_elements(0, rank()); }

int64_t Shape::num_elements(int first, int last) const {
  int64_t product = 1;
  for (int i = first; i < last; ++i) {
    const int64_t dim = dims_[static_cast<size_t>(i)];
    TW_REQUIRE(dim >= 0, "shape ", to_string(), " has a free dimension; its size is known only after compiling");
    TW_REQUIRE(!__builtin_mul_overflow(product, dim, &product), "shape ", to_string(), " has too many elements");
  }
  return product;
}

std::vector<int64_t> Shape::strides() const {
  std::vector<int64_t> result(dims_.size());
  int64_t stride = 1;
  for (size_t i = dims_.size(); i-- > 0;) {
    result[i] = stride;
    stride *= dims_[i];
  }
  return result;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) text += ',';
    text += dims_[i] == kFree ? "?" : std::to_string(dims_[i]);
  }
  return text + "]";
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.to_string(); }
std::ostream& operator<<(std::ostream& out, const TensorType& type) { return out << type.dtype << type.shape; }

}  // namespace thalweg
