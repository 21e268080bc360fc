// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Rows by index: gather, embedding, and the addition of sparse rows.
#include <algorithm>
#include <cstring>

#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/index_check.h"

namespace thalweg {
namespace {

constexpr size_t kWorthwhile = 65536;
constexpr int64_t kAhead = 8;  ///< rows to prefetch ahead: a table is larger than any cache

void copy_rows(const char* table, const std::vector<int64_t>& indices, size_t row, char* out, int64_t begin,
               int64_t end) {
  const auto count = static_cast<int64_t>(indices.size());
  for (int64_t i = begin; i < end; ++i) {
    const char* ahead =
        table + static_cast<size_t>(indices[static_cast<size_t>(std::min(i + kAhead, count - 1))]) * row;
    __builtin_prefetch(ahead);
    if (row > 64) __builtin_prefetch(ahead + 64);
    std::memcpy(out + static_cast<size_t>(i) * row, table + static_cast<size_t>(indices[static_cast<size_t>(i)]) * row,
                row);
  }
}

std::unique_ptr<Kernel> make_gather(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (has_empty_operand(node)) {
    declined = "an operand is empty";
    return nullptr;
  }
  const Shape& shape = node.input(0)->shape();
  const int64_t given = node.attrs().integer("axis");
  const int axis = static_cast<int>(given < 0 ? given + shape.rank() : given);
  const int64_t outer = shape.num_elements(0, axis), size = shape[axis];
  const size_t row = static_cast<size_t>(shape.num_elements(axis + 1, shape.rank())) * size_of(node.output()->dtype());
  auto kernel = std::make_unique<FunctionKernel>([&node, outer, size, row](const KernelArguments& arguments) {
    const TensorType& type = node.input(1)->type();
    const auto indices = checked_indices(node, arguments.inputs[1], type.dtype, type.shape.num_elements(), size);
    const auto count = static_cast<int64_t>(indices.size());
    const int64_t parts = indices.size() * row < kWorthwhile ? 1 : arguments.threads;
    for (int64_t o = 0; o < outer; ++o) {
      const char* table = static_cast<const char*>(arguments.inputs[0]) + static_cast<size_t>(o * size) * row;
      char* out = static_cast<char*>(arguments.outputs[0]) + static_cast<size_t>(o * count) * row;
#pragma omp parallel for schedule(static, 1) num_threads(arguments.threads) if (parts > 1)
      for (int64_t part = 0; part < parts; ++part) {
        copy_rows(table, indices, row, out, count * part / parts, count * (part + 1) / parts);
      }
    }
  });
  kernel->name = "native gather";
  kernel->inputs = plain_inputs(node);
  kernel->outputs = plain_outputs(node);
  return kernel;
}

/// out = table (zeros if null) with rows[i] added at indices[i].
struct RowSum {
  const float* table;
  const float* rows;
  float* out;
  int64_t places;
  int64_t width;

  /// Places [begin, end) only, in the order of the indices.
  void run(const std::vector<int64_t>& indices, int64_t begin, int64_t end) const {
    const size_t bytes = static_cast<size_t>((end - begin) * width) * sizeof(float);
    if (table == nullptr) {
      std::memset(out + begin * width, 0, bytes);
    } else if (table != out) {
      std::memcpy(out + begin * width, table + begin * width, bytes);
    }
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] < begin || indices[i] >= end) continue;
      float* target = out + indices[i] * width;
      const float* row = rows + static_cast<int64_t>(i) * width;
      for (int64_t c = 0; c < width; ++c) target[c] += row[c];
    }
  }
};

/// Each thread owns a range of the table and adds what falls into it: the sums are the same for any number of threads.
void add_rows(const RowSum& sum, const std::vector<int64_t>& indices, int threads) {
  const int64_t elements = (static_cast<int64_t>(indices.size()) + sum.places) * sum.width;
  const int64_t parts = static_cast<size_t>(elements) * sizeof(float) < kWorthwhile ? 1 : threads;
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (parts > 1)
  for (int64_t part = 0; part < parts; ++part) {
    sum.run(indices, sum.places * part / parts, sum.places * (part + 1) / parts);
  }
}

std::unique_ptr<Kernel> make_scatter_rows_add(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (has_empty_operand(node) || node.output()->dtype() != DType::kF32) {
    declined = "an operand is empty or not f32";
    return nullptr;
  }
  auto kernel = std::make_unique<FunctionKernel>([&node](const KernelArguments& arguments) {
    const TensorType& type = node.input(1)->type();
    const Shape& table = node.output()->shape();
    const RowSum sum{static_cast<const float*>(arguments.inputs[0]), static_cast<const float*>(arguments.inputs[2]),
                     static_cast<float*>(arguments.outputs[0]), table[0], table[1]};
    const auto indices = checked_indices(node, arguments.inputs[1], type.dtype, type.shape.num_elements(), table[0]);
    add_rows(sum, indices, arguments.threads);
  });
  kernel->name = "native scatter_rows_add";
  kernel->inputs = plain_inputs(node);
  kernel->outputs = plain_outputs(node);
  kernel->in_place = {{0, 0}};
  return kernel;
}

/// Along the first dimension, as in the dense gradient of a table.
std::unique_ptr<Kernel> make_gather_grad(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (has_empty_operand(node) || node.output()->dtype() != DType::kF32 || node.attrs().integer("axis") != 0) {
    declined = "an operand is empty or not f32, or the axis is not the first";
    return nullptr;
  }
  auto kernel = std::make_unique<FunctionKernel>([&node](const KernelArguments& arguments) {
    const TensorType& type = node.input(1)->type();
    const Shape& table = node.output()->shape();
    const RowSum sum{nullptr, static_cast<const float*>(arguments.inputs[0]), static_cast<float*>(arguments.outputs[0]),
                     table[0], table.num_elements(1, table.rank())};
    const auto indices = checked_indices(node, arguments.inputs[1], type.dtype, type.shape.num_elements(), table[0]);
    add_rows(sum, indices, arguments.threads);
  });
  kernel->name = "native gather_grad";
  kernel->inputs = plain_inputs(node);
  kernel->outputs = plain_outputs(node);
  return kernel;
}

const RegisterKernel kGather(op::kGather, "native", KernelPriority::kNative, make_gather);
const RegisterKernel kEmbedding(op::kEmbedding, "native", KernelPriority::kNative, make_gather);
const RegisterKernel kGatherGrad(op::kGatherGrad, "native", KernelPriority::kNative, make_gather_grad);
const RegisterKernel kScatterRowsAdd(op::kScatterRowsAdd, "native", KernelPriority::kNative, make_scatter_rows_add);

}  // namespace
}  // namespace thalweg
