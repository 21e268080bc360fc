// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// How weights start.
#include <cmath>

#include "formats/caffe/layer_context.h"

namespace thalweg::caffe {
namespace {

namespace init = nn::init;

/// What the spread of a filler is divided by: as many elements as go into a result, come out of one, or their mean.
double fan(const Shape& shape, const std::string& norm) {
  const auto count = static_cast<double>(shape.num_elements());
  const double in = shape.rank() > 0 ? count / static_cast<double>(shape[0]) : 1.0;
  const double out = shape.rank() > 1 ? count / static_cast<double>(shape[1]) : count;
  return norm == "FAN_IN" ? in : norm == "FAN_OUT" ? out : (in + out) / 2;
}

/// Rows of positive numbers with a sum of 1.
Tensor positive_unitball(const Shape& shape, uint64_t key) {
  Tensor tensor = init::uniform(0.0, 1.0)(shape, key);
  const int64_t rows = shape.rank() > 0 ? shape[0] : 1, columns = rows > 0 ? shape.num_elements() / rows : 0;
  for (int64_t r = 0; r < rows; ++r) {
    float* row = tensor.data<float>() + r * columns;
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += static_cast<double>(row[c]);
    for (int64_t c = 0; c < columns; ++c) row[c] = static_cast<float>(static_cast<double>(row[c]) / sum);
  }
  return tensor;
}

}  // namespace

nn::init::Initializer LayerContext::filler(const Fields& fields, const std::string& field, double fallback) {
  if (!fields.has(field)) return init::constant(fallback);
  const Fields& filler = fields.inner(field);
  const std::string type = filler.text("type", "constant");
  const double value = filler.real("value", 0.0), low = filler.real("min", 0.0), high = filler.real("max", 1.0);
  const double mean = filler.real("mean", 0.0), deviation = filler.real("std", 1.0);
  const std::string norm = filler.choice("variance_norm", "FAN_IN", {"FAN_IN", "FAN_OUT", "AVERAGE"});
  filler.require(filler.integer("sparse", -1, -1) < 0, "sparse weights are not supported");
  if (type == "constant") return init::constant(value);
  if (type == "uniform") return init::uniform(low, high);
  if (type == "gaussian") return init::normal(mean, deviation);
  if (type == "bilinear") return init::bilinear();
  if (type == "positive_unitball") return positive_unitball;
  filler.require(type == "xavier" || type == "msra", "there is no filler ", type);
  return [norm, type](const Shape& shape, uint64_t key) {
    const double spread = std::sqrt((type == "xavier" ? 3.0 : 2.0) / fan(shape, norm));
    return type == "xavier" ? init::uniform(-spread, spread)(shape, key) : init::normal(0.0, spread)(shape, key);
  };
}

}  // namespace thalweg::caffe
