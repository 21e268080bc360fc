// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Convolution as a product of matrices.
#include <omp.h>

#include <algorithm>

#include "ops/ids.h"
#include "runtime/kernels/native/conv_epilogue.h"
#include "runtime/kernels/native/conv_forms.h"
#include "runtime/kernels/native/conv_product_plan.h"

namespace thalweg {
namespace {

using Tag = dnnl::memory::format_tag;

/// Part of the work: pixel blocks [first, end) counted over all images, and panels.
struct ConvProductShare {
  int64_t first_block = 0, end_block = 0;
  int64_t first_panel = 0, end_panel = 0;
};

class ConvProductKernel : public Kernel {
 public:
  ConvProductKernel(const KernelRequest& request, const ConvProductBlocking& blocking)
      : shape_(conv_product_shape(request.node)),
        blocking_(blocking),
        epilogue_(request.node, shape_.panels() * shape_.panel_floats()) {
    const Node& node = request.node;
    name = "native gemm";
    inputs = plain_inputs(node);
    inputs[0] = activation(node.input(0)->type());
    // The rows of a panel follow each other: (panel, channel / 16, tap, channel % 16, channels of the panel).
    const TensorType& weights = node.input(1)->type();
    inputs[1] = {weights,
                 {to_dnnl(weights.shape), to_dnnl(weights.dtype),
                  shape_.panel_floats() == 64 ? Tag::OIhw16i64o : Tag::OIhw16i16o}};
    if (epilogue_.has_residual()) inputs[3] = activation(node.input(3)->type());
    outputs = {activation(node.output()->type())};
    blocks_of_image_ = (shape_.pixels + blocking_.pixels - 1) / blocking_.pixels;
    // A cache line more: channel blocks at a power of two apart would fall into the same cache sets.
    left_stride_ = shape_.in_place ? shape_.pixels * shape_.lanes : blocking_.pixels * shape_.lanes + 16;
    left_floats_ = shape_.in_place ? 0 : shape_.left_blocks * left_stride_;
    thread_floats_ = left_floats_ + blocking_.pixels * shape_.panel_floats();
    scratch_bytes = static_cast<size_t>(epilogue_.scratch_floats() + request.threads * thread_floats_) * sizeof(float);
  }

  void run(const KernelArguments& arguments) const override {
    auto* scratch = static_cast<float*>(arguments.scratch);
    const simd::ConvAfter after = epilogue_.prepare(arguments, outputs[0].bytes(), scratch);
#pragma omp parallel num_threads(arguments.threads)
    {
      const int thread = omp_get_thread_num();
      convolve(arguments, share(thread, omp_get_num_threads()), after,
               scratch + epilogue_.scratch_floats() + thread * thread_floats_);
    }
  }

 private:
  Layout activation(const TensorType& type) const {
    return {type, {to_dnnl(type.shape), to_dnnl(type.dtype), shape_.lanes == 16 ? Tag::nChw16c : Tag::nChw8c}};
  }

  ConvProductShare share(int thread, int threads) const {
    // The runtime may give fewer threads than were planned for.
    const int teams = threads % blocking_.panel_teams == 0 ? blocking_.panel_teams : 1;
    const int team = thread % teams, rank = thread / teams, size = threads / teams;
    const int64_t blocks = shape_.batch * blocks_of_image_, panels = shape_.panels();
    return {blocks * rank / size, blocks * (rank + 1) / size, panels * team / teams, panels * (team + 1) / teams};
  }

  void convolve(const KernelArguments& arguments, const ConvProductShare& share, const simd::ConvAfter& after,
                float* buffer) const {
    const auto* x = static_cast<const float*>(arguments.inputs[0]);
    const int64_t image_floats = shape_.patches.blocks * shape_.patches.height * shape_.patches.width * shape_.lanes;
    for (int64_t block = share.first_block; block < share.end_block; ++block) {
      const int64_t image = block / blocks_of_image_, first = block % blocks_of_image_ * blocking_.pixels;
      simd::ConvProduct product{};
      product.pixels = std::min(blocking_.pixels, shape_.pixels - first);
      product.left_stride = left_stride_;
      product.left_blocks = shape_.left_blocks;
      product.partial = buffer + left_floats_;
      product.result_stride = shape_.pixels * shape_.lanes;
      if (shape_.in_place) {
        product.left = x + image * image_floats + first * shape_.lanes;
      } else {
        simd::conv_gather(shape_.patches, x + image * image_floats, first, product.pixels, buffer, left_stride_);
        product.left = buffer;
      }
      multiply(arguments, share, image, first, after, product);
    }
  }

  void multiply(const KernelArguments& arguments, const ConvProductShare& share, int64_t image, int64_t first_pixel,
                const simd::ConvAfter& after, simd::ConvProduct& product) const {
    const auto* right = static_cast<const float*>(arguments.inputs[1]);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    // Rows of the weights are padded to whole blocks of kTapChannels, those of the left side are not if it is the
    // input.
    const int64_t panel_stride = static_cast<int64_t>(inputs[1].bytes() / sizeof(float)) / shape_.panels();
    for (int64_t panel = share.first_panel; panel < share.end_panel; ++panel) {
      const int64_t next = panel + 1 < share.end_panel ? panel + 1 : share.first_panel;
      const int64_t at = (image * shape_.out_blocks + panel * shape_.panel_vectors) * product.result_stride +
                         first_pixel * shape_.lanes;
      product.right = right + panel * panel_stride;
      product.next_right = right + next * panel_stride;
      product.vectors = shape_.vectors_of(panel);
      product.result = y + at;
      product.after = after.at(panel * shape_.panel_floats(), at);
      simd::conv_product(product);
    }
  }

  ConvProductShape shape_;
  ConvProductBlocking blocking_;
  ConvEpilogue epilogue_;
  int64_t blocks_of_image_ = 1;
  int64_t left_stride_ = 0, left_floats_ = 0, thread_floats_ = 0;
};

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& declined) {
  if (!conv_product_possible(request, declined)) return nullptr;
  if (request.tuner != nullptr && !request.by_name) return fastest_conv(request, conv_product_forms(request), declined);
  const ConvProductShape shape = conv_product_shape(request.node);
  const int teams = conv_product_teams(shape, request.threads);
  return std::make_unique<ConvProductKernel>(request, conv_product_blocking(shape, request.threads, teams));
}

const RegisterKernel kConv(op::kConv, "gemm", KernelPriority::kAheadOfOneDnn, make);

}  // namespace

std::vector<ConvForm> conv_product_forms(const KernelRequest& request) {
  std::string declined;
  if (!conv_product_possible(request, declined)) return {};
  const ConvProductShape shape = conv_product_shape(request.node);
  const auto form_of = [&](int teams, bool large) -> ConvForm {
    const ConvProductBlocking blocking = conv_product_blocking(shape, request.threads, teams, large);
    return {"gemm " + std::to_string(teams) + " of " + std::to_string(blocking.pixels),
            [&request, blocking] { return std::make_unique<ConvProductKernel>(request, blocking); }};
  };
  std::vector<ConvForm> forms{form_of(conv_product_teams(shape, request.threads), false)};
  forms[0].by_rule = true;
  for (int teams = 1; teams <= request.threads && teams <= shape.panels(); ++teams) {
    if (request.threads % teams != 0) continue;
    for (const bool large : {false, true}) {
      ConvForm form = form_of(teams, large);
      const auto same = [&](const ConvForm& other) { return other.name == form.name; };
      if (std::any_of(forms.begin(), forms.end(), same)) continue;
      form.variant_of = forms[0].name;
      forms.push_back(std::move(form));
    }
  }
  return forms;
}

}  // namespace thalweg
