// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/onednn/onednn_kernel.h"

namespace thalweg {
namespace {

/// The memory objects of one session, made once and pointed at the operands of each run.
struct OneDnnState : KernelState {
  /// Keeps what `arguments` refers to.
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
  std::vector<dnnl::memory> inputs;
  std::vector<dnnl::memory> outputs;
  dnnl::memory scratchpad;
};

}  // namespace

void OneDnnKernel::set_primitive(dnnl::primitive primitive, const std::string& implementation) {
  primitive_ = std::move(primitive);
  name = "onednn " + implementation;
}

void OneDnnKernel::grow(std::vector<Layout>& layouts, size_t index, const Layout& layout) {
  if (layouts.size() <= index) layouts.resize(index + 1);
  layouts[index] = layout;
}

void OneDnnKernel::bind_input(int argument, size_t index, const Layout& layout) {
  bind_input(argument, index, layout, layout.desc());
}

void OneDnnKernel::bind_output(int argument, size_t index, const Layout& layout) {
  bind_output(argument, index, layout, layout.desc());
}

void OneDnnKernel::bind_input(int argument, size_t index, const Layout& layout, const dnnl::memory::desc& seen_as) {
  grow(inputs, index, layout);
  input_bindings_.push_back({argument, index, seen_as});
}

void OneDnnKernel::bind_output(int argument, size_t index, const Layout& layout, const dnnl::memory::desc& seen_as) {
  grow(outputs, index, layout);
  output_bindings_.push_back({argument, index, seen_as});
}

void OneDnnKernel::bind_extra_input(int argument, size_t index, const dnnl::memory::desc& md) {
  input_bindings_.push_back({argument, index, md});
}

void OneDnnKernel::bind_constant(int argument, const Tensor& value, const dnnl::memory::desc& seen_as) {
  constants_.push_back({argument, value, seen_as});
}

void OneDnnKernel::use_scratchpad(const dnnl::memory::desc& md) {
  scratchpad_ = md;
  scratch_bytes = md.get_size();
}

std::unique_ptr<KernelState> OneDnnKernel::new_state() const {
  auto state = std::make_unique<OneDnnState>();
  const auto make = [&](int argument, const dnnl::memory::desc& md, void* data) {
    dnnl::memory memory(md, dnnl_engine(), data);
    state->memories.push_back(memory);
    state->arguments.push_back({argument, memory.get()});
    return memory;
  };
  for (const Binding& binding : input_bindings_)
    state->inputs.push_back(make(binding.argument, binding.md, DNNL_MEMORY_NONE));
  for (const Binding& binding : output_bindings_)
    state->outputs.push_back(make(binding.argument, binding.md, DNNL_MEMORY_NONE));
  for (const Constant& constant : constants_) make(constant.argument, constant.md, constant.value.raw());
  if (scratch_bytes > 0) state->scratchpad = make(DNNL_ARG_SCRATCHPAD, scratchpad_, DNNL_MEMORY_NONE);
  return state;
}

void OneDnnKernel::run(const KernelArguments& arguments) const {
  auto& state = static_cast<OneDnnState&>(*arguments.state);
  for (size_t i = 0; i < input_bindings_.size(); ++i) {
    state.inputs[i].set_data_handle(arguments.inputs[input_bindings_[i].index]);
  }
  for (size_t i = 0; i < output_bindings_.size(); ++i) {
    state.outputs[i].set_data_handle(arguments.outputs[output_bindings_[i].index]);
  }
  if (scratch_bytes > 0) state.scratchpad.set_data_handle(arguments.scratch);
  dnnl::stream& stream = dnnl_stream();
  // The C++ interface would copy a map of arguments in every run.
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), stream.get(),
                                                 static_cast<int>(state.arguments.size()), state.arguments.data()),
                          "could not execute a primitive");
  stream.wait();
}

dnnl::primitive_attr onednn_attr() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::memory::desc any_layout(const TensorType& type) {
  return {to_dnnl(type.shape), to_dnnl(type.dtype), dnnl::memory::format_tag::any};
}

dnnl::memory::desc f32_vector(int64_t count) {
  return {{count}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a};
}

}  // namespace thalweg
