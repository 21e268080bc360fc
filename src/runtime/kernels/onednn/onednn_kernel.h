// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/kernel.h"

namespace thalweg {

/// A kernel that is one oneDNN primitive. A factory sets the primitive and says which argument is which operand:
///
///   auto kernel = std::make_unique<OneDnnKernel>();
///   kernel->set_primitive(dnnl::convolution_forward(pd), pd.impl_info_str());
///   kernel->bind_input(DNNL_ARG_SRC, 0, Layout(type, pd.src_desc()));
///   kernel->bind_output(DNNL_ARG_DST, 0, Layout(type, pd.dst_desc()));
///   kernel->use_scratchpad(pd.scratchpad_desc());
///
/// Primitives must be created with scratchpad_mode::user (onednn_attr()), so that the planner owns all memory.
class OneDnnKernel : public Kernel {
 public:
  void set_primitive(dnnl::primitive primitive, const std::string& implementation);
  /// Operand `index` of the node is argument `argument`; its layout becomes what the kernel asks for or leaves.
  void bind_input(int argument, size_t index, const Layout& layout);
  void bind_output(int argument, size_t index, const Layout& layout);
  /// As above with a descriptor that sees the same memory in another shape than the node does (batched matmul as 2-D).
  void bind_input(int argument, size_t index, const Layout& layout, const dnnl::memory::desc& seen_as);
  void bind_output(int argument, size_t index, const Layout& layout, const dnnl::memory::desc& seen_as);
  /// Argument `index` of KernelArguments::inputs, beyond the node's inputs: what is derived from them.
  void bind_extra_input(int argument, size_t index, const dnnl::memory::desc& md);
  /// The primitive reads this argument from memory that the kernel holds itself (scales, fixed vectors).
  void bind_constant(int argument, const Tensor& value, const dnnl::memory::desc& seen_as);
  void use_scratchpad(const dnnl::memory::desc& md);

  std::unique_ptr<KernelState> new_state() const override;
  void run(const KernelArguments& arguments) const override;

 private:
  struct Binding {
    int argument = 0;
    size_t index = 0;
    dnnl::memory::desc md;
  };
  static void grow(std::vector<Layout>& layouts, size_t index, const Layout& layout);

  dnnl::primitive primitive_;
  std::vector<Binding> input_bindings_;
  std::vector<Binding> output_bindings_;
  struct Constant {
    int argument = 0;
    Tensor value;
    dnnl::memory::desc md;
  };
  std::vector<Constant> constants_;
  dnnl::memory::desc scratchpad_;
};

/// Attributes that every primitive starts from.
dnnl::primitive_attr onednn_attr();

/// A descriptor that leaves the arrangement to oneDNN.
dnnl::memory::desc any_layout(const TensorType& type);
/// Row-major vector of `count` floats.
dnnl::memory::desc f32_vector(int64_t count);

}  // namespace thalweg
