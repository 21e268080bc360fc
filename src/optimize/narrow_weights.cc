// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/narrow_weights.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "optimize/layers.h"

namespace thalweg {
namespace {

/// Smaller ones (biases, scales) are not worth a node.
constexpr int64_t kSmallest = 1024;

Tensor narrowed(const std::string& name, const Tensor& weight, DType dtype) {
  if (dtype == DType::kF16) {
    constexpr float kLargest = 65504.0f;
    const float* values = weight.data<float>();
    const bool fits =
        std::all_of(values, values + weight.num_elements(), [](float value) { return std::fabs(value) <= kLargest; });
    TW_REQUIRE(fits, "the weight ", printable(name), " has elements that f16 cannot hold");
  }
  return weight.to(dtype);
}

}  // namespace

void narrow_weights(ModelEditor& model, DType dtype) {
  std::vector<std::string> names;
  for (const onnx::TensorProto& tensor : model.graph().initializer) names.push_back(tensor.name);
  for (const std::string& name : names) {
    const auto dims = model.weight_dims(name);
    if (!dims.has_value() || dims->size() < 2) continue;
    const Tensor weight = model.weight(name);
    const std::vector<int> readers = model.readers(name);
    const bool inside = std::find(readers.begin(), readers.end(), -1) != readers.end();
    if (weight.num_elements() < kSmallest || inside) continue;
    const std::string narrow = model.add_initializer(name + "_" + name_of(dtype), narrowed(name, weight, dtype));
    const std::string wide = model.new_name(name + "_f32");
    for (const int reader : readers) {
      auto& inputs = model.graph().node[static_cast<size_t>(reader)].input;
      std::replace(inputs.begin(), inputs.end(), name, wide);
    }
    onnx::NodeProto cast = make_node("Cast", {narrow}, wide);
    set_integer_attribute(cast, "to", static_cast<int64_t>(onnx::DataType::kFloat));
    model.insert_after("", {cast});
  }
  model.remove_unread_initializers();
}

}  // namespace thalweg
