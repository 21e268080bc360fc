// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/axis_map.h"

#include <algorithm>
#include <cmath>

#include "ops/ids.h"
#include "ops/window.h"

namespace thalweg {
namespace {

/// Fills a map target by target.
class MapBuilder {
 public:
  MapBuilder(int64_t sources, int64_t taps) {
    map_.sources = sources;
    map_.taps = taps;
    map_.begin.push_back(0);
  }
  void add(int64_t index, int64_t tap, double weight) {
    map_.list.push_back({static_cast<int32_t>(index), static_cast<int32_t>(tap), weight});
  }
  void next_target() { map_.begin.push_back(static_cast<int32_t>(map_.list.size())); }
  AxisMap take() { return std::move(map_); }

 private:
  AxisMap map_;
};

AxisMap identity() {
  MapBuilder builder(1, 1);
  builder.add(0, 0, 1.0);
  builder.next_target();
  return builder.take();
}

AxisMap adaptive_map(int64_t in, int64_t out) {
  int64_t widest = 1;
  const auto first = [&](int64_t o) { return o * in / out; };
  const auto last = [&](int64_t o) { return ((o + 1) * in + out - 1) / out; };
  for (int64_t o = 0; o < out; ++o) widest = std::max(widest, last(o) - first(o));
  MapBuilder builder(in, widest);
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = first(o); i < last(o); ++i) {
      builder.add(i, i - first(o), 1.0 / static_cast<double>(last(o) - first(o)));
    }
    builder.next_target();
  }
  return builder.take();
}

AxisMap window_map(const Window& window, size_t d, int64_t in, int64_t out, bool count_padding) {
  MapBuilder builder(in, window.kernel[d]);
  const int64_t dilation = window.dilations[d];
  for (int64_t o = 0; o < out; ++o) {
    const int64_t start = o * window.strides[d] - window.begins[d];
    // The taps that lie inside; a file may ask for windows far larger than what they move over.
    const auto first_at = [&](int64_t place) {
      return std::clamp<int64_t>((place - start + dilation - 1) / dilation, 0, window.kernel[d]);
    };
    const int64_t first = start < 0 ? first_at(0) : 0;
    const int64_t last = start < in ? first_at(in) : 0;
    const int64_t valid = std::max<int64_t>(0, last - first);
    // What ceil_mode lets stick out beyond the padding never counts.
    const int64_t counted = count_padding ? std::min(start + window.kernel[d], in + window.ends[d]) - start : valid;
    for (int64_t k = first; k < last; ++k) {
      builder.add(start + k * dilation, k, 1.0 / static_cast<double>(std::max<int64_t>(counted, 1)));
    }
    builder.next_target();
  }
  return builder.take();
}

double source_position(const std::string& coordinates, int64_t o, int64_t in, int64_t out) {
  const auto position = static_cast<double>(o);
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  if (coordinates == "half_pixel") return (position + 0.5) * scale - 0.5;
  if (coordinates == "asymmetric") return position * scale;
  return out > 1 ? position * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
}

/// In integers where rounding could otherwise pick the neighbour.
int64_t nearest_position(const std::string& coordinates, int64_t o, int64_t in, int64_t out) {
  if (coordinates == "half_pixel") return (2 * o + 1) * in / (2 * out);
  if (coordinates == "asymmetric") return o * in / out;
  return static_cast<int64_t>(std::floor(source_position(coordinates, o, in, out) + 0.5));
}

/// Keys' kernel with a = -0.75, at the four neighbours of a position `t` past the second of them.
std::array<double, 4> cubic_weights(double t) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

AxisMap interpolation_map(const std::string& mode, const std::string& coordinates, int64_t in, int64_t out) {
  MapBuilder builder(in, 4);
  const auto clamped = [&](int64_t i) { return std::clamp<int64_t>(i, 0, in - 1); };
  for (int64_t o = 0; o < out; ++o) {
    const double position = source_position(coordinates, o, in, out);
    if (mode == "nearest") {
      builder.add(clamped(nearest_position(coordinates, o, in, out)), 0, 1.0);
    } else if (mode == "linear") {
      const double inner = std::max(position, 0.0);
      const auto left = static_cast<int64_t>(inner);
      const double t = inner - static_cast<double>(left);
      builder.add(clamped(left), 0, 1.0 - t);
      if (t > 0) builder.add(clamped(left + 1), 1, t);
    } else {
      const double left = std::floor(position);
      const std::array<double, 4> weights = cubic_weights(position - left);
      for (int64_t k = 0; k < 4; ++k) {
        builder.add(clamped(static_cast<int64_t>(left) - 1 + k), k, weights[static_cast<size_t>(k)]);
      }
    }
    builder.next_target();
  }
  return builder.take();
}

template <typename Make>
AxisMaps maps_of(const Shape& x, const Make& make) {
  AxisMaps maps{identity(), identity(), identity()};
  const size_t rank = static_cast<size_t>(x.rank()) - 2;
  for (size_t d = 0; d < rank; ++d) maps[3 - rank + d] = make(d, static_cast<int>(d) + 2);
  return maps;
}

}  // namespace

AxisMap AxisMap::transposed() const {
  std::vector<std::vector<AxisEntry>> lists(static_cast<size_t>(sources));
  for (int64_t t = 0; t < targets(); ++t) {
    for (int32_t e = begin[static_cast<size_t>(t)]; e < begin[static_cast<size_t>(t) + 1]; ++e) {
      const AxisEntry& entry = list[static_cast<size_t>(e)];
      lists[static_cast<size_t>(entry.index)].push_back({static_cast<int32_t>(t), entry.tap, entry.weight});
    }
  }
  MapBuilder builder(targets(), taps);
  for (const auto& entries : lists) {
    for (const AxisEntry& entry : entries) builder.add(entry.index, entry.tap, entry.weight);
    builder.next_target();
  }
  return builder.take();
}

AxisMaps pool_maps(const Attributes& attrs, const Shape& x, const Shape& y) {
  if (attrs.has("output_size")) return maps_of(x, [&](size_t, int dim) { return adaptive_map(x[dim], y[dim]); });
  const Window window = read_window(attrs, attrs.integers("kernel"));
  const bool count_padding = attrs.flag("count_include_pad");
  return maps_of(x, [&](size_t d, int dim) { return window_map(window, d, x[dim], y[dim], count_padding); });
}

AxisMaps interpolation_maps(const Attributes& attrs, const Shape& x, const Shape& y) {
  const std::string mode = attrs.text("mode");
  const std::string coordinates = attrs.text("coordinates");
  return maps_of(x, [&](size_t, int dim) { return interpolation_map(mode, coordinates, x[dim], y[dim]); });
}

AxisMaps spatial_maps(const Node& node) {
  const std::string& op = node.op_name();
  const bool gradient = op == op::kAvgPoolGrad || op == op::kMaxPoolGrad || op == op::kInterpolateGrad;
  const bool resizes = op == op::kInterpolate || op == op::kInterpolateGrad;
  const Shape& x = gradient ? node.output()->shape() : node.input(0)->shape();
  const Shape& y = gradient ? node.input(0)->shape() : node.output()->shape();
  AxisMaps maps = resizes ? interpolation_maps(node.attrs(), x, y) : pool_maps(node.attrs(), x, y);
  if (gradient) {
    for (AxisMap& map : maps) map = map.transposed();
  }
  return maps;
}

}  // namespace thalweg
