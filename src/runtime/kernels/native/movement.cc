// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// transpose, pad, expand and tile.
#include <algorithm>
#include <cstring>

#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/channel_form.h"
#include "runtime/kernels/native/strided_copy.h"

namespace thalweg {
namespace {

bool declines_empty(const Node& node, std::string& declined) {
  if (has_empty_operand(node)) declined = "an operand is empty";
  return !declined.empty();
}

/// The dimension of the input that each dimension of a transpose's result is.
std::vector<size_t> source_dimensions(const Node& transpose) {
  std::vector<size_t> result;
  for (int64_t place : transpose.attrs().integers("permutation")) {
    result.push_back(static_cast<size_t>(place < 0 ? place + transpose.input(0)->shape().rank() : place));
  }
  return result;
}

/// The layout of the input in which it is the result row by row: what is rearranged anyway is best rearranged so.
Layout arranged_as_result(const Node& transpose) {
  const TensorType& type = transpose.input(0)->type();
  const std::vector<int64_t> plain = transpose.output()->shape().strides();
  const std::vector<size_t> from = source_dimensions(transpose);
  dnnl::memory::dims strides(plain.size());
  for (size_t d = 0; d < plain.size(); ++d) strides[from[d]] = plain[d];
  return {type, {to_dnnl(type.shape), to_dnnl(type.dtype), strides}};
}

/// A transposed tensor is the same memory read with other strides. Readers that can do that, such as products, take it
/// as it is; for the others the runtime reorders it, once.
std::unique_ptr<Kernel> make_transposed_view(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_empty(node, declined)) return nullptr;
  const Layout& own = request.inputs[0];
  const bool blocked = own.has_desc() && own.desc().get_inner_nblks() > 0;
  const Layout from = blocked ? arranged_as_result(node) : own;
  if (!from.has_desc() || from.padded()) {
    declined = "oneDNN cannot describe it";
    return nullptr;
  }
  dnnl::memory::dims strides;
  for (const size_t dimension : source_dimensions(node)) strides.push_back(from.desc().get_strides()[dimension]);
  const TensorType& type = node.output()->type();
  auto kernel = std::make_unique<FunctionKernel>([](const KernelArguments&) {});
  kernel->name = "strided view";
  kernel->inputs = {from};
  kernel->outputs = {Layout(type, {to_dnnl(type.shape), to_dnnl(type.dtype), strides})};
  kernel->alias_of_input = 0;
  return kernel;
}

std::unique_ptr<FunctionKernel> copying_kernel(const Node& node, const char* name, StridedCopy copy) {
  auto kernel = std::make_unique<FunctionKernel>([copy = std::move(copy)](const KernelArguments& arguments) {
    copy.run(static_cast<const char*>(arguments.inputs[0]), static_cast<char*>(arguments.outputs[0]),
             arguments.threads);
  });
  kernel->name = name;
  kernel->inputs = plain_inputs(node);
  kernel->outputs = plain_outputs(node);
  return kernel;
}

std::vector<int64_t> byte_strides(const Shape& shape, int64_t element) {
  std::vector<int64_t> strides = shape.strides();
  for (int64_t& stride : strides) stride *= element;
  return strides;
}

std::unique_ptr<Kernel> make_transpose(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_empty(node, declined)) return nullptr;
  const auto element = static_cast<int64_t>(size_of(node.output()->dtype()));
  const auto own = byte_strides(node.input(0)->shape(), element);
  std::vector<int64_t> source;
  for (const size_t dimension : source_dimensions(node)) source.push_back(own[dimension]);
  const Shape& to = node.output()->shape();
  return copying_kernel(node, "native transpose", {to.dims(), source, byte_strides(to, element), element});
}

std::unique_ptr<Kernel> make_expand(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_empty(node, declined)) return nullptr;
  const auto element = static_cast<int64_t>(size_of(node.output()->dtype()));
  const Shape& from = node.input(0)->shape();
  const Shape& to = node.output()->shape();
  const auto own = byte_strides(from, element);
  const size_t lead = to.dims().size() - own.size();
  std::vector<int64_t> source(to.dims().size(), 0);
  for (size_t d = 0; d < own.size(); ++d) source[lead + d] = from.dims()[d] == 1 ? 0 : own[d];
  return copying_kernel(node, "native expand", {to.dims(), source, byte_strides(to, element), element});
}

std::unique_ptr<Kernel> make_tile(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_empty(node, declined)) return nullptr;
  const auto element = static_cast<int64_t>(size_of(node.output()->dtype()));
  const Shape& from = node.input(0)->shape();
  const auto repeats = node.attrs().integers("repeats");
  const auto small = byte_strides(from, element), large = byte_strides(node.output()->shape(), element);
  std::vector<int64_t> dims, source, target;
  for (size_t d = 0; d < repeats.size(); ++d) {
    dims.insert(dims.end(), {repeats[d], from.dims()[d]});
    source.insert(source.end(), {0, small[d]});
    target.insert(target.end(), {large[d] * from.dims()[d], large[d]});
  }
  return copying_kernel(node, "native tile", {dims, source, target, element});
}

/// Fills with copies of one element.
void fill(char* memory, size_t bytes, const Tensor& value, int threads) {
  const size_t element = value.num_bytes();
  const auto* pattern = static_cast<const char*>(value.raw());
  if (std::all_of(pattern, pattern + element, [](char byte) { return byte == 0; })) {
    parallel_zero(memory, bytes, threads);
    return;
  }
  for (size_t at = 0; at < bytes; at += element) std::memcpy(memory + at, pattern, element);
}

/// Both sides of a padding, dimension by dimension as they lie.
struct PadPlan {
  Layout from, to;
  std::vector<int64_t> from_dims, to_dims, from_strides, to_strides;  ///< strides in bytes
  std::vector<int64_t> begins, ends;
};

/// In the layout in which the activation lies; false if the padding cuts its blocks, or would fill their padding.
bool plan_in_blocks(const KernelRequest& request, PadPlan& plan) {
  const Node& node = request.node;
  const bool same = same_arrangement(request.inputs[0], node.output()->type(), plan.to);
  if (!same || request.inputs[0].is_plain()) return false;
  plan.from = request.inputs[0];
  const BlockedDims from = blocked_dims(plan.from, plan.from.type()), to = blocked_dims(plan.from, plan.to.type());
  const bool pads_channels = plan.begins[1] != 0 || plan.ends[1] != 0;
  if (!from.last && (pads_channels || (plan.to.padded() && node.attrs().real("value") != 0.0))) return false;
  for (auto* pads : {&plan.begins, &plan.ends}) {
    pads->push_back(from.last ? (*pads)[1] : 0);
    (*pads)[1] = 0;
  }
  plan.from_dims = from.dims;
  plan.to_dims = to.dims;
  plan.from_strides = from.strides;
  plan.to_strides = to.strides;
  return true;
}

PadPlan plan_pad(const KernelRequest& request) {
  const Node& node = request.node;
  const auto pads = node.attrs().integers("pads");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
  PadPlan plan;
  plan.begins.assign(pads.begin(), middle);
  plan.ends.assign(middle, pads.end());
  if (plan_in_blocks(request, plan)) return plan;
  const auto element = static_cast<int64_t>(size_of(node.output()->dtype()));
  plan.from = Layout(node.input(0)->type());
  plan.to = Layout(node.output()->type());
  plan.from_dims = plan.from.shape().dims();
  plan.to_dims = plan.to.shape().dims();
  plan.from_strides = byte_strides(plan.from.shape(), element);
  plan.to_strides = byte_strides(plan.to.shape(), element);
  return plan;
}

std::unique_ptr<Kernel> make_pad(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_empty(node, declined)) return nullptr;
  if (node.attrs().text("mode") != "constant") {
    declined = "mode " + node.attrs().text("mode");
    return nullptr;
  }
  const PadPlan plan = plan_pad(request);
  std::vector<int64_t> box;
  int64_t source_offset = 0, target_offset = 0;
  for (size_t d = 0; d < plan.from_dims.size(); ++d) {
    const int64_t begin = plan.begins[d], end = plan.ends[d];
    source_offset += std::max<int64_t>(0, -begin) * plan.from_strides[d];
    target_offset += std::max<int64_t>(0, begin) * plan.to_strides[d];
    box.push_back(std::max<int64_t>(0, plan.from_dims[d] + std::min<int64_t>(0, begin) + std::min<int64_t>(0, end)));
  }
  const StridedCopy copy(box, plan.from_strides, plan.to_strides, static_cast<int64_t>(size_of(plan.to.dtype())));
  const bool covers = box == plan.to_dims;
  const bool nothing = std::count(box.begin(), box.end(), 0) > 0;
  const Tensor value = Tensor::scalar<double>(node.attrs().real("value")).to(node.output()->dtype());
  const size_t bytes = plan.to.bytes();
  auto kernel = std::make_unique<FunctionKernel>([=](const KernelArguments& arguments) {
    char* out = static_cast<char*>(arguments.outputs[0]);
    if (!covers) fill(out, bytes, value, arguments.threads);
    if (!nothing) {
      copy.run(static_cast<const char*>(arguments.inputs[0]) + source_offset, out + target_offset, arguments.threads);
    }
  });
  kernel->name = "native pad";
  kernel->inputs = {plan.from};
  kernel->outputs = {plan.to};
  return kernel;
}

const RegisterKernel kTransposedView(op::kTranspose, "strided", KernelPriority::kSpecial, make_transposed_view);
const RegisterKernel kTranspose(op::kTranspose, "native", KernelPriority::kNative, make_transpose);
const RegisterKernel kPad(op::kPad, "native", KernelPriority::kNative, make_pad);
const RegisterKernel kExpand(op::kExpand, "native", KernelPriority::kNative, make_expand);
const RegisterKernel kTile(op::kTile, "native", KernelPriority::kNative, make_tile);

}  // namespace
}  // namespace thalweg
