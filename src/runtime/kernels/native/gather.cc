// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Rows by index: gather, embedding, and the addition of sparse rows.
#include <algorithm>
#include <cstring>

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

/// Each thread owns a range of the table and adds what falls into it, in the order of the indices: the sums are the
/// same for any number of threads.
void add_rows(const KernelArguments& arguments, const std::vector<int64_t>& indices, int64_t places, int64_t width) {
  const auto* rows = static_cast<const float*>(arguments.inputs[2]);
  const auto* table = static_cast<const float*>(arguments.inputs[0]);
  auto* out = static_cast<float*>(arguments.outputs[0]);
  const auto count = static_cast<int64_t>(indices.size());
  const int64_t parts =
      static_cast<size_t>((count + places) * width) * sizeof(float) < kWorthwhile ? 1 : arguments.threads;
#pragma omp parallel for schedule(static, 1) num_threads(arguments.threads) if (parts > 1)
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t begin = places * part / parts, end = places * (part + 1) / parts;
    if (out != table)
      std::memcpy(out + begin * width, table + begin * width, static_cast<size_t>((end - begin) * width) * 4);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t index = indices[static_cast<size_t>(i)];
      if (index < begin || index >= end) continue;
      float* target = out + index * width;
      const float* row = rows + i * width;
      for (int64_t c = 0; c < width; ++c) target[c] += row[c];
    }
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
    add_rows(arguments, checked_indices(node, arguments.inputs[1], type.dtype, type.shape.num_elements(), table[0]),
             table[0], table[1]);
  });
  kernel->name = "native scatter_rows_add";
  kernel->inputs = plain_inputs(node);
  kernel->outputs = plain_outputs(node);
  kernel->in_place = {{0, 0}};
  return kernel;
}

const RegisterKernel kGather("gather", "native", KernelPriority::kNative, make_gather);
const RegisterKernel kEmbedding("embedding", "native", KernelPriority::kNative, make_gather);
const RegisterKernel kScatterRowsAdd("scatter_rows_add", "native", KernelPriority::kNative, make_scatter_rows_add);

}  // namespace
}  // namespace thalweg
