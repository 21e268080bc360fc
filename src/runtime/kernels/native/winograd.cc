// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Convolution and its data gradient by Winograd's method.
#include <algorithm>

#include "ops/ids.h"
#include "runtime/kernels/native/conv_epilogue.h"
#include "runtime/kernels/native/conv_forms.h"
#include "runtime/kernels/native/winograd_plan.h"

namespace thalweg {
namespace {

/// Transforms the weights for one of the two passes: an operand that WinogradConvKernel derives from its input 1.
class WinogradWeightsKernel : public Kernel {
 public:
  WinogradWeightsKernel(const WinogradShape& shape, const TensorType& weights, bool turned)
      : shape_(shape), job_(shape.weights(turned)) {
    name = "native winograd weights";
    inputs = {winograd_weights_layout(weights, shape.lanes)};
    outputs = {Layout(TensorType{DType::kF32, Shape({shape.weights_floats()})})};
  }

  void run(const KernelArguments& arguments) const override {
    const auto* w = static_cast<const float*>(arguments.inputs[0]);
    auto* u = static_cast<float*>(arguments.outputs[0]);
#pragma omp parallel for schedule(static) num_threads(arguments.threads)
    for (int64_t panel = 0; panel < shape_.panels(); ++panel) {
      const int64_t first = panel * shape_.panel_vectors;
      simd::winograd_weights(shape_.m, job_, w, first, first + shape_.vectors_of(panel), u);
    }
  }

 private:
  WinogradShape shape_;
  simd::WinogradWeights job_;
};

class WinogradConvKernel : public Kernel {
 public:
  WinogradConvKernel(const KernelRequest& request, WinogradPass pass, const WinogradChoice& choice)
      : shape_(winograd_shape(conv_geometry(request.node), pass, choice.m)),
        blocking_(choice.blocking),
        weights_(shape_.weights(false)),
        in_tiles_(winograd_tiles(shape_, shape_.in.blocks, 1, blocking_.tiles)),
        out_tiles_(
            winograd_tiles(shape_, blocking_.panels * shape_.panel_vectors, shape_.panel_vectors, blocking_.tiles)) {
    const Node& node = request.node;
    name = "native winograd " + std::to_string(choice.m) + "x" + std::to_string(choice.m);
    weights_input_ = node.inputs().size();
    if (pass == WinogradPass::kForward) epilogue_ = ConvEpilogue(node, shape_.out.blocks * shape_.lanes);
    inputs = plain_inputs(node);
    inputs[0] = winograd_activation_layout(node.input(0)->type(), shape_.lanes);
    if (epilogue_.has_residual()) inputs[3] = winograd_activation_layout(node.input(3)->type(), shape_.lanes);
    outputs = {winograd_activation_layout(node.output()->type(), shape_.lanes)};
    unread = {1};
    derived.push_back(
        {1, std::make_unique<WinogradWeightsKernel>(shape_, node.input(1)->type(), pass == WinogradPass::kData)});
    tiles_floats_ = winograd_tiles_floats(shape_, in_tiles_) + winograd_tiles_floats(shape_, out_tiles_);
    const int64_t buffers = blocking_.shared ? 1 : request.threads;
    scratch_bytes = static_cast<size_t>(epilogue_.scratch_floats() + buffers * tiles_floats_) * sizeof(float);
  }

  void run(const KernelArguments& arguments) const override {
    auto* scratch = static_cast<float*>(arguments.scratch);
    const simd::ConvAfter after = epilogue_.prepare(arguments, outputs[0].bytes(), scratch);
#pragma omp parallel num_threads(arguments.threads)
    {
      const WinogradShare share = winograd_share(shape_, blocking_);
      convolve(arguments, share, after, scratch + epilogue_.scratch_floats() + share.buffer * tiles_floats_);
    }
  }

 private:
  void convolve(const KernelArguments& arguments, const WinogradShare& share, const simd::ConvAfter& after,
                float* buffer) const {
    const WinogradTeam& team = share.team;
    simd::WinogradTiles in = in_tiles_, out = out_tiles_;
    in.data = buffer;
    out.data = buffer + winograd_tiles_floats(shape_, in);
    const auto* x = static_cast<const float*>(arguments.inputs[0]);
    const auto* u = static_cast<const float*>(arguments.inputs[weights_input_]);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    for (int64_t first = share.first; first < share.end; first += blocking_.tiles) {
      const int64_t tiles = std::min(blocking_.tiles, share.end - first);
      const int64_t begin = team.begin(tiles), count = team.end(tiles) - begin;
      simd::winograd_input(shape_.m, shape_.in, x, {first + begin, count, begin, 0, shape_.in.blocks}, in);
      team.wait();
      for (int64_t panel = 0; panel < shape_.panels(); panel += blocking_.panels) {
        const int64_t panels = std::min(blocking_.panels, shape_.panels() - panel);
        multiply(team, in, u, panel, panels, tiles, out);
        team.wait();
        const int64_t first_block = panel * shape_.panel_vectors;
        const int64_t end_block = std::min(first_block + panels * shape_.panel_vectors, shape_.out.blocks);
        simd::winograd_output(shape_.m, shape_.out, out, {first + begin, count, begin, first_block, end_block}, after,
                              y);
        team.wait();
      }
    }
  }

  void multiply(const WinogradTeam& team, const simd::WinogradTiles& in, const float* u, int64_t first_panel,
                int64_t panels, int64_t tiles, const simd::WinogradTiles& out) const {
    const int64_t jobs = shape_.points() * panels;
    const auto right_of = [&](int64_t job) {
      return u + job / panels * weights_.point_stride + (first_panel + job % panels) * weights_.panel_stride;
    };
    for (int64_t job = team.begin(jobs); job < team.end(jobs); ++job) {
      const int64_t point = job / panels, panel = job % panels;
      simd::WinogradProduct product{};
      product.left = in.data + point * in.point_stride;
      product.left_stride = in.panel_stride;
      product.right = right_of(job);
      product.next_right = job + 1 < team.end(jobs) ? right_of(job + 1) : nullptr;
      product.result = out.data + point * out.point_stride + panel * out.panel_stride;
      product.tiles = tiles;
      product.channel_blocks = shape_.in.blocks;
      product.vectors = shape_.vectors_of(first_panel + panel);
      simd::winograd_multiply(product);
    }
  }

  WinogradShape shape_;
  WinogradBlocking blocking_;
  simd::WinogradWeights weights_;
  simd::WinogradTiles in_tiles_, out_tiles_;
  int64_t tiles_floats_ = 0;
  size_t weights_input_ = 0;
  ConvEpilogue epilogue_;
};

WinogradPass pass_of(const KernelRequest& request) {
  return request.node.op_name() == op::kConv ? WinogradPass::kForward : WinogradPass::kData;
}

std::string name_of(const WinogradChoice& choice) {
  return std::to_string(choice.m) + "x" + std::to_string(choice.m) + (choice.blocking.shared ? " shared " : " own ") +
         std::to_string(choice.blocking.tiles);
}

/// However exact they are; none, with the reason, if the method cannot be used or is sure to be slower.
std::vector<ConvForm> possible_forms(const KernelRequest& request, std::string& declined) {
  const WinogradPass pass = pass_of(request);
  std::vector<ConvForm> forms;
  if (!winograd_computes(request.node, declined)) return forms;
  const std::vector<WinogradChoice> choices = winograd_choices(request.node, pass, request.threads);
  if (choices.empty()) declined = "the direct method is sure to be faster";
  const int ruled = winograd_by_rule(conv_geometry(request.node), pass);
  std::string first;
  int m = 0;
  for (const WinogradChoice& choice : choices) {
    // The first of a size is what the rule makes of it.
    const bool varies = choice.m == m;
    m = choice.m;
    if (!varies) first = name_of(choice);
    const auto make = [&request, pass, choice] { return std::make_unique<WinogradConvKernel>(request, pass, choice); };
    forms.push_back({name_of(choice), make, !varies && m == ruled, varies ? first : ""});
  }
  return forms;
}

bool exact_enough(const KernelRequest& request, std::string& declined) {
  // The larger tiles are the less exact ones.
  return winograd_possible(request, pass_of(request), 4, declined);
}

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& declined) {
  const WinogradPass pass = pass_of(request);
  if (request.tuner != nullptr && !request.by_name) {
    const std::vector<ConvForm> forms = possible_forms(request, declined);
    std::unique_ptr<Kernel> kernel = forms.empty() ? nullptr : fastest_conv(request, forms, declined);
    return kernel != nullptr && exact_enough(request, declined) ? std::move(kernel) : nullptr;
  }
  const int m = choose_winograd(request, pass, declined);
  if (m == 0) return nullptr;
  const WinogradShape shape = winograd_shape(conv_geometry(request.node), pass, m);
  return std::make_unique<WinogradConvKernel>(request, pass,
                                              WinogradChoice{m, winograd_blocking(shape, pass, request.threads)});
}

const RegisterKernel kConv(op::kConv, "winograd", KernelPriority::kSpecial, make);
const RegisterKernel kGradData(op::kConvGradData, "winograd", KernelPriority::kSpecial, make);

}  // namespace

std::vector<ConvForm> winograd_forms(const KernelRequest& request) {
  std::string declined;
  std::vector<ConvForm> forms = possible_forms(request, declined);
  return forms.empty() || !exact_enough(request, declined) ? std::vector<ConvForm>() : forms;
}

}  // namespace thalweg
