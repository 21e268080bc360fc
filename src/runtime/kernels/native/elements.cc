// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// gather_elements and scatter_elements: single elements by index along an axis.
#include <cstring>
#include <optional>

#include "ops/ids.h"
#include "runtime/kernels/index_check.h"
#include "runtime/kernels/native/plain_kernel.h"
#include "runtime/kernels/native/ranges.h"

namespace thalweg {
namespace {

/// The lines of the indices along the axis. Two of them never meet in one element of the table, so that each can be
/// worked on by a thread of its own, in the order of its indices.
class IndexLines {
 public:
  IndexLines(const Shape& table, const Shape& indices, int64_t axis)
      : axis_(static_cast<size_t>(axis < 0 ? axis + table.rank() : axis)),
        dims_(indices.dims()),
        table_strides_(table.strides()),
        own_strides_(indices.strides()),
        places_(table.dims()[axis_]) {}

  int64_t places() const { return places_; }

  /// Calls `body(number of the index, element of the table)`.
  template <typename Body>
  void run(const std::vector<int64_t>& indices, int threads, Body body) const {
    const auto count = static_cast<int64_t>(indices.size());
    in_ranges(count / dims_[axis_], count, threads, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        int64_t rest = line, own = 0, table = 0;
        for (size_t d = dims_.size(); d-- > 0;) {
          if (d == axis_) continue;
          own += rest % dims_[d] * own_strides_[d];
          table += rest % dims_[d] * table_strides_[d];
          rest /= dims_[d];
        }
        for (int64_t k = 0; k < dims_[axis_]; ++k, own += own_strides_[axis_]) {
          body(own, table + indices[static_cast<size_t>(own)] * table_strides_[axis_]);
        }
      }
    });
  }

 private:
  size_t axis_;
  std::vector<int64_t> dims_, table_strides_, own_strides_;
  int64_t places_;
};

/// Indices whose shape is the table's but along the axis: all is walked as it lies.
struct AlignedIndices {
  int64_t outer, count, places, inner;

  /// Nothing if the shapes differ elsewhere.
  static std::optional<AlignedIndices> of(const Shape& table, const Shape& indices, int64_t given) {
    const int axis = static_cast<int>(given < 0 ? given + table.rank() : given);
    for (int d = 0; d < table.rank(); ++d) {
      if (d != axis && table[d] != indices[d]) return std::nullopt;
    }
    return AlignedIndices{table.num_elements(0, axis), indices[axis], table[axis],
                          table.num_elements(axis + 1, table.rank())};
  }

  template <typename T>
  void gather(const T* table, const std::vector<int64_t>& indices, T* out, int threads) const {
    in_ranges(outer * count, outer * count * inner, threads, [&](int64_t, int64_t begin, int64_t end) {
      int64_t o = begin / count, k = begin % count;
      for (int64_t row = begin; row < end; ++row) {
        const T* from = table + o * places * inner;
        const int64_t* chosen = indices.data() + row * inner;
        for (int64_t i = 0; i < inner; ++i) out[row * inner + i] = from[chosen[i] * inner + i];
        if (++k == count) {
          k = 0;
          ++o;
        }
      }
    });
  }
};

std::vector<int64_t> indices_of(const Node& node, const KernelArguments& arguments, int64_t places) {
  const TensorType& type = node.input(1)->type();
  return checked_indices(node, arguments.inputs[1], type.dtype, type.shape.num_elements(), places);
}

std::unique_ptr<Kernel> make_gather_elements(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_plain(node, node.output()->dtype(), declined)) return nullptr;
  const Shape& table_shape = node.input(0)->shape();
  const IndexLines lines(table_shape, node.input(1)->shape(), node.attrs().integer("axis"));
  const auto aligned = AlignedIndices::of(table_shape, node.input(1)->shape(), node.attrs().integer("axis"));
  return plain_kernel(node, [&node, lines, aligned](const KernelArguments& arguments) {
    const std::vector<int64_t> indices = indices_of(node, arguments, lines.places());
    dispatch_arithmetic(node.output()->dtype(), [&](auto tag) {
      using T = decltype(tag);
      const auto* table = static_cast<const T*>(arguments.inputs[0]);
      auto* out = static_cast<T*>(arguments.outputs[0]);
      if (aligned.has_value()) return aligned->gather(table, indices, out, arguments.threads);
      lines.run(indices, arguments.threads, [=](int64_t own, int64_t at) { out[own] = table[at]; });
    });
  });
}

std::unique_ptr<Kernel> make_scatter_elements(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_plain(node, node.output()->dtype(), declined)) return nullptr;
  const IndexLines lines(node.input(0)->shape(), node.input(1)->shape(), node.attrs().integer("axis"));
  const std::string reduction = node.attrs().text("reduction");
  if (reduction != "none" && reduction != "add") {
    declined = "reduction " + reduction;
    return nullptr;
  }
  const bool accumulate = reduction == "add";
  const size_t bytes = Layout(node.output()->type()).bytes();
  auto kernel = plain_kernel(node, [&node, lines, accumulate, bytes](const KernelArguments& arguments) {
    const std::vector<int64_t> indices = indices_of(node, arguments, lines.places());
    if (arguments.outputs[0] != arguments.inputs[0]) std::memcpy(arguments.outputs[0], arguments.inputs[0], bytes);
    dispatch_arithmetic(node.output()->dtype(), [&](auto tag) {
      using T = decltype(tag);
      const auto* updates = static_cast<const T*>(arguments.inputs[2]);
      auto* out = static_cast<T*>(arguments.outputs[0]);
      lines.run(indices, arguments.threads, [=](int64_t own, int64_t at) {
        out[at] = accumulate ? static_cast<T>(out[at] + updates[own]) : updates[own];
      });
    });
  });
  kernel->in_place = {{0, 0}};
  return kernel;
}

const RegisterKernel kGatherElements(op::kGatherElements, "native", KernelPriority::kNative, make_gather_elements);
const RegisterKernel kScatterElements(op::kScatterElements, "native", KernelPriority::kNative, make_scatter_elements);

}  // namespace
}  // namespace thalweg
