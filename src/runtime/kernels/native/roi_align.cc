// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Regions of pictures. A mean over samples is one over rows of a mean over columns: each element that a bin reads gets
// one weight along each axis, however many samples there are.
#include <algorithm>

#include "ops/ids_rare.h"
#include "ops/roi_samples.h"
#include "runtime/kernel.h"

namespace thalweg {
namespace {

struct Weighted {
  int64_t index;
  float weight;
};

/// The elements that each bin reads along one axis, one after another.
struct Axis {
  std::vector<Weighted> elements;
  std::vector<size_t> begins;  ///< one more than bins
  int64_t first = 0, last = -1;
};

Axis axis_of(const RoiLine& line) {
  Axis axis;
  for (const std::vector<RoiSample>& samples : line.bins) {
    const size_t begin = axis.elements.size();
    axis.begins.push_back(begin);
    const auto add = [&](int64_t index, double weight) {
      if (weight == 0) return;
      // Samples go forward, so that the element is one of the last two if it is there.
      for (size_t back = 1; back <= 2 && axis.elements.size() >= begin + back; ++back) {
        Weighted& known = axis.elements[axis.elements.size() - back];
        if (known.index != index) continue;
        known.weight += static_cast<float>(weight / line.samples);
        return;
      }
      axis.elements.push_back({index, static_cast<float>(weight / line.samples)});
    };
    for (const RoiSample& sample : samples) {
      add(sample.low, sample.low_weight);
      add(sample.high, sample.high_weight);
    }
  }
  axis.begins.push_back(axis.elements.size());
  for (const Weighted& element : axis.elements) {
    axis.first = axis.last < 0 ? element.index : std::min(axis.first, element.index);
    axis.last = std::max(axis.last, element.index);
  }
  return axis;
}

struct Region {
  int64_t picture;
  Axis rows, columns;
};

std::vector<Region> regions_of(const Node& node, const Shape& x, const float* rois, const int64_t* pictures) {
  std::vector<Region> regions;
  for (int64_t r = 0; r < node.input(1)->shape()[0]; ++r) {
    TW_REQUIRE(pictures[r] >= 0 && pictures[r] < x[0], describe(node), ": region ", r, " lies in picture ", pictures[r],
               " of ", x[0]);
    const RoiRegion region = roi_region(node.attrs(), rois + r * 4, x[2], x[3]);
    regions.push_back({pictures[r], axis_of(region.rows), axis_of(region.columns)});
  }
  return regions;
}

/// One channel of one region. `line` has room for a row of the picture.
void pool(const Region& region, const float* plane, int64_t width, float* y, float* line) {
  const Axis &rows = region.rows, &columns = region.columns;
  for (size_t i = 0; i + 1 < rows.begins.size(); ++i) {
    std::fill(line + columns.first, line + columns.last + 1, 0.0F);
    for (size_t e = rows.begins[i]; e < rows.begins[i + 1]; ++e) {
      const float* row = plane + rows.elements[e].index * width;
      const float weight = rows.elements[e].weight;
      for (int64_t w = columns.first; w <= columns.last; ++w) line[w] += weight * row[w];
    }
    for (size_t j = 0; j + 1 < columns.begins.size(); ++j) {
      float sum = 0;
      for (size_t e = columns.begins[j]; e < columns.begins[j + 1]; ++e) {
        sum += columns.elements[e].weight * line[columns.elements[e].index];
      }
      *y++ = sum;
    }
  }
}

void spread(const Region& region, const float* dy, float* plane, int64_t width, float* line) {
  const Axis &rows = region.rows, &columns = region.columns;
  for (size_t i = 0; i + 1 < rows.begins.size(); ++i) {
    std::fill(line + columns.first, line + columns.last + 1, 0.0F);
    for (size_t j = 0; j + 1 < columns.begins.size(); ++j) {
      for (size_t e = columns.begins[j]; e < columns.begins[j + 1]; ++e) {
        line[columns.elements[e].index] += columns.elements[e].weight * *dy;
      }
      ++dy;
    }
    for (size_t e = rows.begins[i]; e < rows.begins[i + 1]; ++e) {
      float* row = plane + rows.elements[e].index * width;
      const float weight = rows.elements[e].weight;
      for (int64_t w = columns.first; w <= columns.last; ++w) row[w] += weight * line[w];
    }
  }
}

class RoiAlignKernel : public Kernel {
 public:
  RoiAlignKernel(const Node& node, bool gradient, int threads) : node_(node), gradient_(gradient) {
    name = gradient ? "native roi_align_grad" : "native roi_align";
    inputs = plain_inputs(node);
    outputs = plain_outputs(node);
    if (gradient) unread = {3};
    scratch_bytes = static_cast<size_t>(threads * pictures_shape()[3]) * sizeof(float);
  }

  void run(const KernelArguments& arguments) const override {
    const Shape& x = pictures_shape();
    const std::vector<Region> regions = regions_of(node_, x, static_cast<const float*>(arguments.inputs[1]),
                                                   static_cast<const int64_t*>(arguments.inputs[2]));
    const auto* from = static_cast<const float*>(arguments.inputs[0]);
    auto* to = static_cast<float*>(arguments.outputs[0]);
    const int64_t bins = node_.attrs().integer("output_height") * node_.attrs().integer("output_width");
    const int64_t channels = x[1], plane = x[2] * x[3], width = x[3];
    const int64_t parts = std::min<int64_t>(channels, arguments.threads);
    // Each part has channels of its own in all regions, so that none writes where another does.
#pragma omp parallel for schedule(static) num_threads(arguments.threads)
    for (int64_t part = 0; part < parts; ++part) {
      float* line = static_cast<float*>(arguments.scratch) + part * width;
      for (int64_t c = channels * part / parts; c < channels * (part + 1) / parts; ++c) {
        for (int64_t n = 0; gradient_ && n < x[0]; ++n) std::fill_n(to + (n * channels + c) * plane, plane, 0.0F);
        for (size_t r = 0; r < regions.size(); ++r) {
          const int64_t picture = (regions[r].picture * channels + c) * plane;
          const int64_t pooled = (static_cast<int64_t>(r) * channels + c) * bins;
          if (gradient_) {
            spread(regions[r], from + pooled, to + picture, width, line);
          } else {
            pool(regions[r], from + picture, width, to + pooled, line);
          }
        }
      }
    }
  }

 private:
  const Shape& pictures_shape() const { return gradient_ ? node_.output()->shape() : node_.input(0)->shape(); }

  const Node& node_;  // lives in the program's graph, which outlives its kernels
  bool gradient_;
};

KernelFactory factory(bool gradient) {
  return [gradient](const KernelRequest& request, std::string& declined) -> std::unique_ptr<Kernel> {
    const Node& node = request.node;
    if (node.output()->dtype() != DType::kF32)
      declined = std::string("element type ") + name_of(node.output()->dtype());
    if (has_empty_operand(node)) declined = "an operand is empty";
    if (node.attrs().text("mode") != "avg") declined = "it is the largest element that is wanted";
    if (!declined.empty()) return nullptr;
    return std::make_unique<RoiAlignKernel>(node, gradient, request.threads);
  };
}

const RegisterKernel kRoiAlign(op::kRoiAlign, "native", KernelPriority::kNative, factory(false));
const RegisterKernel kRoiAlignGrad(op::kRoiAlignGrad, "native", KernelPriority::kNative, factory(true));

}  // namespace
}  // namespace thalweg
