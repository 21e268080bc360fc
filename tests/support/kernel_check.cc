// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "support/kernel_check.h"

#include <gtest/gtest.h>

#include "runtime/reorder_kernel.h"
#include "support/op_check.h"
#include "support/op_coverage.h"

namespace thalweg::testing {
namespace {

/// Memory in some layout, aligned as the runtime's is.
class LaidOut {
 public:
  explicit LaidOut(const Layout& layout)
      : layout_(layout), memory_(DType::kU8, {static_cast<int64_t>(layout.bytes()) + 64}) {}
  void* data() const { return memory_.raw(); }

  void copy_from(const void* source, const Layout& from) const { reorder(source, from, data(), layout_); }
  Tensor to_tensor() const {
    Tensor result(layout_.type());
    reorder(data(), layout_, result.raw(), Layout(layout_.type()));
    return result;
  }

 private:
  static void reorder(const void* source, const Layout& from, void* target, const Layout& to) {
    const std::unique_ptr<Kernel> kernel = make_reorder_kernel(from, to);
    const std::vector<uint8_t> scratch(kernel->scratch_bytes + 64);
    const std::unique_ptr<KernelState> state = kernel->new_state();
    void* const in[] = {const_cast<void*>(source)};
    void* const out[] = {target};
    kernel->run({in, out, const_cast<uint8_t*>(scratch.data()), state.get(), 1, 0});
  }

  Layout layout_;
  Tensor memory_;
};

std::unique_ptr<Kernel> make_kernel(const KernelRequest& request, const std::string& candidate) {
  std::string declined;
  for (const KernelCandidate& entry : kernel_candidates(request.node.op_name())) {
    if (entry.name == candidate) {
      auto kernel = entry.factory(request, declined);
      TW_REQUIRE(kernel != nullptr, candidate, " declined ", describe(request.node), ": ", declined);
      return kernel;
    }
  }
  raise("no candidate ", candidate, " for ", describe(request.node));
}

}  // namespace

std::vector<Tensor> run_kernel(const Node& node, const std::string& candidate, const std::vector<Layout>& layouts,
                               const std::vector<Tensor>& inputs, int threads, uint64_t step) {
  const KernelRequest request{node, layouts, threads, std::vector<bool>(inputs.size(), false)};
  const std::unique_ptr<Kernel> kernel = make_kernel(request, candidate);
  OpCoverage::instance().compared(node, candidate);
  std::vector<LaidOut> memory;
  std::vector<void*> in, out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) {
      in.push_back(nullptr);
      continue;
    }
    memory.emplace_back(kernel->inputs[i]);
    memory.back().copy_from(inputs[i].raw(), Layout(inputs[i].type()));
    in.push_back(memory.back().data());
  }
  std::vector<LaidOut> results;
  for (const Layout& layout : kernel->outputs) {
    results.emplace_back(layout);
    out.push_back(results.back().data());
  }
  const Tensor scratch(DType::kU8, {static_cast<int64_t>(kernel->scratch_bytes) + 64});
  const std::unique_ptr<KernelState> state = kernel->new_state();
  kernel->run({in, out, scratch.raw(), state.get(), threads, step});
  std::vector<Tensor> tensors;
  for (const LaidOut& result : results) tensors.push_back(result.to_tensor());
  return tensors;
}

void check_layouts(const std::string& op, const std::vector<TensorType>& inputs, const Attributes& attrs,
                   double tolerance) {
  using Tag = dnnl::memory::format_tag;
  Graph graph;
  std::vector<Value*> values;
  std::vector<Tensor> tensors;
  std::vector<Layout> plain;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool activation = inputs[i].shape.rank() == 4;
    values.push_back(graph.input("input" + std::to_string(i), inputs[i]));
    tensors.push_back(
        random_tensor(DType::kF64, inputs[i].shape, 5 + i, activation ? -1 : 0.5, 1.5).to(inputs[i].dtype));
    plain.emplace_back(inputs[i]);
  }
  const Node* node = graph.add(op, values, attrs);
  const std::vector<Tensor> expected = run_kernel(*node, "reference", plain, tensors);
  for (const Tag tag : {Tag::nChw16c, Tag::nChw8c, Tag::nhwc, Tag::nchw}) {
    std::vector<Layout> layouts = plain;
    for (Layout& layout : layouts) {
      if (layout.shape().rank() != 4) continue;
      layout = Layout(layout.type(), dnnl::memory::desc(layout.shape().dims(), to_dnnl(layout.dtype()), tag));
    }
    for (const int threads : {1, 2, 3}) {
      const std::vector<Tensor> actual = run_kernel(*node, "native", layouts, tensors, threads);
      for (size_t i = 0; i < expected.size(); ++i) {
        expect_close(actual[i], expected[i], tolerance,
                     op + " output " + std::to_string(i) + " in " + layouts[0].to_string());
      }
    }
  }
}

}  // namespace thalweg::testing
