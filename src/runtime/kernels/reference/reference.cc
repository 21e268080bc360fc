// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/reference/reference.h"

#include <cstring>

#include "graph/op_registry.h"

namespace thalweg {
namespace {

bool is_two_byte_float(DType dtype) { return dtype == DType::kBF16 || dtype == DType::kF16; }

Tensor view(void* data, const TensorType& type) { return Tensor::borrow(type.dtype, type.shape, data, nullptr); }

class ReferenceKernel : public Kernel {
 public:
  ReferenceKernel(const Node& node, const ReferenceFunction& function) : node_(node), function_(function) {
    name = "reference";
    inputs = plain_inputs(node);
    outputs = plain_outputs(node);
  }

  void run(const KernelArguments& arguments) const override {
    std::vector<Tensor> in(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (arguments.inputs[i] == nullptr) continue;
      in[i] = view(arguments.inputs[i], inputs[i].type());
      if (is_two_byte_float(in[i].dtype())) in[i] = in[i].to(DType::kF32);
    }
    std::vector<Tensor> out(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorType& type = outputs[i].type();
      const bool direct = arguments.outputs[i] != nullptr && !is_two_byte_float(type.dtype);
      out[i] = direct ? view(arguments.outputs[i], type)
                      : Tensor(is_two_byte_float(type.dtype) ? DType::kF32 : type.dtype, type.shape);
    }
    function_({node_, in, out, arguments.step});
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (arguments.outputs[i] == nullptr || !is_two_byte_float(outputs[i].dtype())) continue;
      const Tensor narrow = out[i].to(outputs[i].dtype());
      std::memcpy(arguments.outputs[i], narrow.raw(), narrow.num_bytes());
    }
  }

 private:
  const Node& node_;  // lives in the program's graph, which outlives its kernels
  const ReferenceFunction& function_;
};

}  // namespace

RegisterReference::RegisterReference(const std::string& op, ReferenceFunction function) {
  auto shared = std::make_shared<ReferenceFunction>(std::move(function));
  RegisterKernel(op, "reference", KernelPriority::kReference,
                 [shared](const KernelRequest& request, std::string&) -> std::unique_ptr<Kernel> {
                   return std::make_unique<ReferenceKernel>(request.node, *shared);
                 });
}

void register_op_references() {
  for (const std::string& name : op_names()) {
    const OpDef& op = find_op(name);
    if (op.reference != nullptr) RegisterReference(name, op.reference);
  }
}

}  // namespace thalweg
