// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// arg_max, arg_min, top_k and cumsum: the lines along the axis are shared out among the threads.
#include "runtime/kernels/ordering.h"

#include <algorithm>
#include <numeric>

#include "ops/ids.h"
#include "runtime/kernels/axis_view.h"
#include "runtime/kernels/native/plain_kernel.h"
#include "runtime/kernels/native/ranges.h"

namespace thalweg {
namespace {

/// Lines [begin, end) of neighbours that are `view.inner` apart, a step along the axis at a time, so that memory is
/// read in its order.
template <typename T, typename Better>
void arg_lines(const T* x, const AxisView& view, int64_t begin, int64_t end, int64_t* out, Better better) {
  for (int64_t first = begin; first < end;) {
    const int64_t last = std::min(end, (first / view.inner + 1) * view.inner);
    const T* start = x + view.begin(first);
    std::fill(out + first, out + last, int64_t{0});
    for (int64_t k = 1; k < view.size; ++k) {
      for (int64_t line = first; line < last; ++line) {
        const T* own = start + (line - first);
        if (better(own[k * view.inner], own[out[line] * view.inner])) out[line] = k;
      }
    }
    first = last;
  }
}

/// The same where each line is contiguous.
template <typename T, typename Better>
void arg_contiguous(const T* x, const AxisView& view, int64_t begin, int64_t end, int64_t* out, Better better) {
  for (int64_t line = begin; line < end; ++line) {
    const T* own = x + line * view.size;
    int64_t best = 0;
    for (int64_t k = 1; k < view.size; ++k) best = better(own[k], own[best]) ? k : best;
    out[line] = best;
  }
}

std::unique_ptr<Kernel> make_arg(const KernelRequest& request, std::string& declined, bool largest) {
  const Node& node = request.node;
  if (declines_plain(node, node.input(0)->dtype(), declined)) return nullptr;
  const AxisView view(node.input(0)->shape(), node.attrs().integer("axis"));
  const DType dtype = node.input(0)->dtype();
  return plain_kernel(node, [=](const KernelArguments& arguments) {
    auto* out = static_cast<int64_t*>(arguments.outputs[0]);
    dispatch_arithmetic(dtype, [&](auto tag) {
      using T = decltype(tag);
      const auto* x = static_cast<const T*>(arguments.inputs[0]);
      const auto better = [largest](T a, T b) { return largest ? a > b : a < b; };
      in_ranges(view.lines(), view.lines() * view.size, arguments.threads, [&](int64_t, int64_t begin, int64_t end) {
        view.inner == 1 ? arg_contiguous(x, view, begin, end, out, better)
                        : arg_lines(x, view, begin, end, out, better);
      });
    });
  });
}

/// One top_k over lines of T. Outputs that nobody reads are null.
template <typename T>
struct TopLines {
  const T* x;
  T* values;
  int64_t* indices;
  AxisView view;
  int64_t k;
  bool smallest;

  /// `order`: scratch for `view.size` places.
  void run(int64_t begin, int64_t end, int64_t* order) const {
    for (int64_t line = begin; line < end; ++line) {
      const T* own = x + view.begin(line);
      const BestFirst<T> best_first{own, view.inner, smallest};
      std::iota(order, order + view.size, int64_t{0});
      // Far cheaper than a partial sort unless k is tiny.
      if (k < view.size) std::nth_element(order, order + k, order + view.size, best_first);
      std::sort(order, order + k, best_first);
      const int64_t to = line / view.inner * k * view.inner + line % view.inner;
      for (int64_t i = 0; i < k; ++i) {
        if (values != nullptr) values[to + i * view.inner] = own[order[i] * view.inner];
        if (indices != nullptr) indices[to + i * view.inner] = order[i];
      }
    }
  }
};

std::unique_ptr<Kernel> make_top_k(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_plain(node, node.input(0)->dtype(), declined)) return nullptr;
  const AxisView view(node.input(0)->shape(), node.attrs().integer("axis"));
  const int64_t k = node.attrs().integer("k");
  const bool smallest = node.attrs().flag("smallest");
  const DType dtype = node.input(0)->dtype();
  auto kernel = plain_kernel(node, [=](const KernelArguments& arguments) {
    auto* order = static_cast<int64_t*>(arguments.scratch);
    dispatch_arithmetic(dtype, [&](auto tag) {
      using T = decltype(tag);
      const TopLines<T> lines{static_cast<const T*>(arguments.inputs[0]),
                              static_cast<T*>(arguments.outputs[0]),
                              static_cast<int64_t*>(arguments.outputs[1]),
                              view,
                              k,
                              smallest};
      in_ranges(view.lines(), view.lines() * view.size, arguments.threads,
                [&](int64_t part, int64_t begin, int64_t end) { lines.run(begin, end, order + part * view.size); });
    });
  });
  kernel->scratch_bytes = static_cast<size_t>(view.size * request.threads) * sizeof(int64_t);
  return kernel;
}

template <typename T>
struct RunningSums {
  const T* x;
  T* y;
  AxisView view;
  bool exclusive;
  bool reverse;

  void run(int64_t begin, int64_t end) const {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t first = view.begin(line);
      SumOf<T> sum = 0;
      for (int64_t step = 0; step < view.size; ++step) {
        const int64_t at = first + (reverse ? view.size - 1 - step : step) * view.inner;
        const SumOf<T> before = sum;
        sum += static_cast<SumOf<T>>(x[at]);
        y[at] = static_cast<T>(exclusive ? before : sum);
      }
    }
  }
};

std::unique_ptr<Kernel> make_cumsum(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_plain(node, node.input(0)->dtype(), declined)) return nullptr;
  const AxisView view(node.input(0)->shape(), node.attrs().integer("axis"));
  const bool exclusive = node.attrs().flag("exclusive"), reverse = node.attrs().flag("reverse");
  const DType dtype = node.input(0)->dtype();
  auto kernel = plain_kernel(node, [=](const KernelArguments& arguments) {
    dispatch_arithmetic(dtype, [&](auto tag) {
      using T = decltype(tag);
      const RunningSums<T> sums{static_cast<const T*>(arguments.inputs[0]), static_cast<T*>(arguments.outputs[0]), view,
                                exclusive, reverse};
      in_ranges(view.lines(), view.lines() * view.size, arguments.threads,
                [&](int64_t, int64_t begin, int64_t end) { sums.run(begin, end); });
    });
  });
  kernel->in_place = {{0, 0}};
  return kernel;
}

KernelFactory arg_factory(bool largest) {
  return
      [largest](const KernelRequest& request, std::string& declined) { return make_arg(request, declined, largest); };
}

const RegisterKernel kArgMax(op::kArgMax, "native", KernelPriority::kNative, arg_factory(true));
const RegisterKernel kArgMin(op::kArgMin, "native", KernelPriority::kNative, arg_factory(false));
const RegisterKernel kTopK(op::kTopK, "native", KernelPriority::kNative, make_top_k);
const RegisterKernel kCumsum(op::kCumsum, "native", KernelPriority::kNative, make_cumsum);

}  // namespace
}  // namespace thalweg
