// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Padding by reflection or with the edge, and the gradients of padding and tiling: each place of the target is one
// place of the source, or the sum of some, found in a table for each dimension.
#include "ops/ids.h"
#include "runtime/kernels/native/plain_kernel.h"
#include "runtime/kernels/native/ranges.h"

namespace thalweg {
namespace {

/// For each place of the target along a dimension, the offsets of its sources (already times the stride).
using PlaceMap = std::vector<std::vector<int64_t>>;

class PlaceMaps {
 public:
  /// `source_of(dimension, place of the larger shape)` gives the place of the smaller one, or -1 if it has none. The
  /// target is the larger shape, or with `fold` the smaller one, which sums.
  template <typename SourceOf>
  PlaceMaps(const Shape& larger, const Shape& smaller, bool fold, SourceOf source_of)
      : target_(fold ? smaller : larger) {
    const std::vector<int64_t> strides = (fold ? larger : smaller).strides();
    for (size_t d = 0; d < strides.size(); ++d) {
      maps_.emplace_back(static_cast<size_t>(target_.dims()[d]));
      for (int64_t place = 0; place < larger.dims()[d]; ++place) {
        const int64_t inner = source_of(d, place);
        if (inner < 0) continue;
        maps_[d][static_cast<size_t>(fold ? inner : place)].push_back((fold ? place : inner) * strides[d]);
      }
    }
    find_runs();
  }

  template <typename T>
  void run(const T* source, T* target, int threads) const {
    const int64_t width = target_[target_.rank() - 1];
    const int64_t rows = target_.num_elements() / width;
    in_ranges(rows, rows * width, threads, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        T* line = target + row * width;
        std::fill(line, line + width, T{0});
        add_row(source, line, row, maps_.size() - 1);
      }
    });
  }

 private:
  /// Adds the lines of the source that the target's line `row` comes from, choosing a place in each dimension before
  /// `dimension`.
  template <typename T>
  void add_row(const T* source, T* line, int64_t row, size_t dimension) const {
    if (dimension == 0) {
      add_line(source, line);
      return;
    }
    const int64_t size = target_.dims()[dimension - 1];
    for (const int64_t offset : maps_[dimension - 1][static_cast<size_t>(row % size)]) {
      add_row(source + offset, line, row / size, dimension - 1);
    }
  }

  template <typename T>
  void add_line(const T* source, T* line) const {
    for (const Run& run : runs_) {
      const T* from = source + run.source;
      T* to = line + run.target;
      for (int64_t i = 0; i < run.count; ++i) to[i] = static_cast<T>(to[i] + from[i]);
    }
  }

  /// Places of a line that follow each other on both sides.
  struct Run {
    int64_t target, source, count;
  };

  static constexpr std::ptrdiff_t kLooksBack = 64;

  void find_runs() {
    const PlaceMap& last = maps_.back();
    for (size_t place = 0; place < last.size(); ++place) {
      const auto target = static_cast<int64_t>(place);
      for (const int64_t source : last[place]) {
        // Those that can go on were begun lately, but for the many of a tile's gradient.
        const auto looked_at = runs_.rbegin() + std::min<std::ptrdiff_t>(std::ssize(runs_), kLooksBack);
        const auto open = std::find_if(runs_.rbegin(), looked_at, [&](const Run& run) {
          return run.target + run.count == target && run.source + run.count == source;
        });
        if (open != looked_at) {
          ++open->count;
        } else {
          runs_.push_back({target, source, 1});
        }
      }
    }
  }

  Shape target_;
  std::vector<PlaceMap> maps_;
  std::vector<Run> runs_;
};

std::unique_ptr<Kernel> make_mapped(const Node& node, PlaceMaps maps) {
  return plain_kernel(node, [maps = std::move(maps), dtype = node.output()->dtype()](const KernelArguments& arguments) {
    dispatch_arithmetic(dtype, [&](auto tag) {
      using T = decltype(tag);
      maps.run(static_cast<const T*>(arguments.inputs[0]), static_cast<T*>(arguments.outputs[0]), arguments.threads);
    });
  });
}

bool declines(const Node& node, std::string& declined) {
  if (node.output()->shape().rank() == 0) declined = "an operand has no dimensions";
  return declines_plain(node, node.output()->dtype(), declined);
}

/// Which place of the inner shape a padded place shows; -1 in a margin that is filled.
int64_t unpadded(const Attributes& attrs, const std::vector<int64_t>& pads, const Shape& inner, size_t d,
                 int64_t place) {
  const int64_t size = inner.dims()[d], at = place - pads[d];
  if (at >= 0 && at < size) return at;
  const std::string mode = attrs.text("mode");
  if (mode == "edge") return at < 0 ? 0 : size - 1;
  if (mode == "reflect") return at < 0 ? -at : 2 * (size - 1) - at;
  return -1;
}

PlaceMaps pad_maps(const Node& node, const Shape& larger, const Shape& smaller, bool fold) {
  const std::vector<int64_t> pads = node.attrs().integers("pads");
  return {larger, smaller, fold,
          [&](size_t d, int64_t place) { return unpadded(node.attrs(), pads, smaller, d, place); }};
}

std::unique_ptr<Kernel> make_pad(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines(node, declined)) return nullptr;
  if (node.attrs().text("mode") == "constant") {
    declined = "mode constant";
    return nullptr;
  }
  return make_mapped(node, pad_maps(node, node.output()->shape(), node.input(0)->shape(), false));
}

std::unique_ptr<Kernel> make_pad_grad(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines(node, declined)) return nullptr;
  return make_mapped(node, pad_maps(node, node.input(0)->shape(), node.output()->shape(), true));
}

std::unique_ptr<Kernel> make_tile_grad(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines(node, declined)) return nullptr;
  const Shape& smaller = node.output()->shape();
  return make_mapped(node, PlaceMaps(node.input(0)->shape(), smaller, true,
                                     [&](size_t d, int64_t place) { return place % smaller.dims()[d]; }));
}

const RegisterKernel kPad(op::kPad, "native by table", KernelPriority::kNative, make_pad);
const RegisterKernel kPadGrad(op::kPadGrad, "native", KernelPriority::kNative, make_pad_grad);
const RegisterKernel kTileGrad(op::kTileGrad, "native", KernelPriority::kNative, make_tile_grad);

}  // namespace
}  // namespace thalweg
