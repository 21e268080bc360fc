// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/init.h"

#include <cmath>
#include <numbers>

#include "nn/init/counter_random.h"
#include "nn/init/fill.h"
#include "nn/init/inverse_normal.h"

namespace thalweg::nn::init {
namespace {

/// One draw for each element: value(uniform number in [0, 1)).
template <typename Map>
Tensor draw(const Shape& shape, uint64_t key, const Map& value) {
  Tensor result(DType::kF32, shape);
  auto* out = result.data<float>();
  for_ranges(result.num_elements(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out[i] = static_cast<float>(value(counter_uniform(key, static_cast<uint64_t>(i))));
  });
  return result;
}

/// Elements 2p and 2p+1 are the two results of one Box-Muller transform; ranges begin at even elements.
void fill_normal(float* out, int64_t begin, int64_t end, uint64_t key, double mean, double stddev) {
  for (int64_t i = begin; i < end; i += 2) {
    const double u = 1.0 - counter_uniform(key, static_cast<uint64_t>(i));
    const double angle = 2.0 * std::numbers::pi * counter_uniform(key, static_cast<uint64_t>(i) + 1);
    const double radius = stddev * std::sqrt(-2.0 * std::log(u));
    out[i] = static_cast<float>(mean + radius * std::cos(angle));
    if (i + 1 < end) out[i + 1] = static_cast<float>(mean + radius * std::sin(angle));
  }
}

double kaiming_stddev(const Shape& shape, double negative_slope, Fan fan) {
  const auto connections = static_cast<double>(fan == Fan::kIn ? fan_in(shape) : fan_out(shape));
  return std::sqrt(2.0 / (1.0 + negative_slope * negative_slope) / connections);
}

double xavier_stddev(const Shape& shape, double gain) {
  return gain * std::sqrt(2.0 / static_cast<double>(fan_in(shape) + fan_out(shape)));
}

Tensor symmetric(const Shape& shape, uint64_t key, double bound) { return uniform(-bound, bound)(shape, key); }

Tensor interpolating_weights(const Shape& shape) {
  TW_REQUIRE(shape.rank() == 4, "the bilinear initialiser is for weights [C, O, k, k], not ", shape);
  Tensor result(DType::kF32, shape);
  const auto weight_at = [](int64_t index, int64_t size) {
    const auto factor = static_cast<double>((size + 1) / 2);
    const double centre = size % 2 == 1 ? factor - 1 : factor - 0.5;
    return 1.0 - std::fabs(static_cast<double>(index) - centre) / factor;
  };
  auto* out = result.data<float>();
  for (int64_t i = 0; i < result.num_elements(); ++i) {
    out[i] = static_cast<float>(weight_at(i / shape[3] % shape[2], shape[2]) * weight_at(i % shape[3], shape[3]));
  }
  return result;
}

}  // namespace

int64_t fan_in(const Shape& shape) {
  TW_REQUIRE(shape.rank() >= 2, "an initialiser that counts connections needs a weight of two or more dimensions, not ",
             shape);
  return std::max<int64_t>(1, shape.num_elements(1, shape.rank()));
}

int64_t fan_out(const Shape& shape) {
  TW_REQUIRE(shape.rank() >= 2, "an initialiser that counts connections needs a weight of two or more dimensions, not ",
             shape);
  return std::max<int64_t>(1, shape[0] * shape.num_elements(2, shape.rank()));
}

uint64_t key_of(uint64_t seed, const std::string& name) { return fnv1a64(name) ^ counter_random(seed, 0); }

Initializer constant(double value) {
  return [value](const Shape& shape, uint64_t) { return Tensor::full<float>(shape, static_cast<float>(value)); };
}
Initializer zeros() { return constant(0.0); }
Initializer ones() { return constant(1.0); }

Initializer uniform(double low, double high) {
  return [low, high](const Shape& shape, uint64_t key) {
    return draw(shape, key, [&](double u) { return low + u * (high - low); });
  };
}

Initializer normal(double mean, double stddev) {
  return [mean, stddev](const Shape& shape, uint64_t key) {
    Tensor result(DType::kF32, shape);
    auto* out = result.data<float>();
    for_ranges(result.num_elements(),
               [&](int64_t begin, int64_t end) { fill_normal(out, begin, end, key, mean, stddev); });
    return result;
  };
}

Initializer truncated_normal(double mean, double stddev, double low, double high) {
  TW_REQUIRE(low < high, "truncated normal: the range [", low, ", ", high, "] is empty");
  return [=](const Shape& shape, uint64_t key) {
    const double from = normal_cdf(low);
    const double to = normal_cdf(high);
    return draw(shape, key, [&](double u) {
      const double p = from + u * (to - from);
      return mean + stddev * std::clamp(inverse_normal_cdf(p), low, high);
    });
  };
}

Initializer xavier_uniform(double gain) {
  return [gain](const Shape& shape, uint64_t key) {
    return symmetric(shape, key, std::sqrt(3.0) * xavier_stddev(shape, gain));
  };
}

Initializer xavier_normal(double gain) {
  return [gain](const Shape& shape, uint64_t key) { return normal(0.0, xavier_stddev(shape, gain))(shape, key); };
}

Initializer kaiming_uniform(double negative_slope, Fan fan) {
  return [=](const Shape& shape, uint64_t key) {
    return symmetric(shape, key, std::sqrt(3.0) * kaiming_stddev(shape, negative_slope, fan));
  };
}

Initializer kaiming_normal(double negative_slope, Fan fan) {
  return [=](const Shape& shape, uint64_t key) {
    return normal(0.0, kaiming_stddev(shape, negative_slope, fan))(shape, key);
  };
}

Initializer bilinear() {
  return [](const Shape& shape, uint64_t) { return interpolating_weights(shape); };
}

}  // namespace thalweg::nn::init
