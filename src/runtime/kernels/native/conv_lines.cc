// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Convolution to few channels, such as the last of a network or those of a signal, and of signals whose channels do not
// see each other.
#include "runtime/kernels/simd/conv_lines.h"

#include <algorithm>

#include "ops/fused_activation.h"
#include "ops/ids.h"
#include "runtime/kernels/native/conv_bands.h"
#include "runtime/kernels/native/conv_forms.h"
#include "runtime/kernels/native/function_loops.h"

namespace thalweg {
namespace {

/// Kernels that fill vectors with channels waste the rest of a vector of 16; up to so many it does not pay.
constexpr int64_t kMostChannels = 8;

/// What happens to a line of one channel after its sums, in the first cache.
class LineEnding {
 public:
  explicit LineEnding(const Node& node) : affine_(fused_affine(node.attrs())) {
    const UnaryCallee callee = fused_activation(node.attrs());
    if (callee.function == nullptr) return;
    activated_ = true;
    activation_.function = *unary_loop(callee.function->name);
    activation_.alpha = static_cast<float>(callee.a);
    activation_.beta = static_cast<float>(callee.b);
  }

  void run(float* line, int64_t count, const float* residual, const float* slope) const {
    if (residual != nullptr) combine(simd::BinaryFunction::kAdd, line, count, residual, false);
    if (slope != nullptr) combine(simd::BinaryFunction::kPrelu, line, count, slope, true);
    if (activated_) {
      simd::UnaryCall call = activation_;
      call.x = call.y = line;
      call.count = count;
      simd::unary(call);
    }
    const auto scale = static_cast<float>(affine_.scale), shift = static_cast<float>(affine_.shift);
    if (affine_.scale != 1.0) combine(simd::BinaryFunction::kMul, line, count, &scale, true);
    if (affine_.shift != 0.0) combine(simd::BinaryFunction::kAdd, line, count, &shift, true);
  }

 private:
  static void combine(simd::BinaryFunction function, float* line, int64_t count, const float* other, bool one) {
    simd::BinaryCall call;
    call.function = function;
    call.a = call.y = line;
    call.b = other;
    call.b_is_one = one;
    call.count = count;
    simd::binary(call);
  }

  FusedAffine affine_;
  bool activated_ = false;
  simd::UnaryCall activation_;
};

class ConvLinesKernel : public Kernel {
 public:
  explicit ConvLinesKernel(const KernelRequest& request)
      : bands_(conv_geometry(request.node), true, simd::kLineSlack),
        offsets_(bands_.offsets(false)),
        ending_(request.node),
        batch_(request.node.output()->shape()[0]),
        channels_(request.node.output()->shape()[1]),
        depthwise_(conv_geometry(request.node).groups > 1),
        image_floats_(request.node.input(0)->shape().num_elements() / batch_) {
    name = "native lines";
    inputs = plain_inputs(request.node);
    outputs = plain_outputs(request.node);
    scratch_bytes = static_cast<size_t>(request.threads * bands_.copy_floats()) * sizeof(float);
  }

  void run(const KernelArguments& arguments) const override {
    const int64_t bands = batch_ * bands_.bands_of_image();
    const int64_t parts = std::min<int64_t>(arguments.threads, bands);
#pragma omp parallel for schedule(static, 1) num_threads(parts)
    for (int64_t part = 0; part < parts; ++part) {
      float* copy = static_cast<float*>(arguments.scratch) + part * bands_.copy_floats();
      for (int64_t band = bands * part / parts; band < bands * (part + 1) / parts; ++band) {
        convolve(arguments, band / bands_.bands_of_image(), band % bands_.bands_of_image() * bands_.band_rows(), copy);
      }
    }
  }

 private:
  static const float* input(const KernelArguments& arguments, size_t index) {
    return index < arguments.inputs.size() ? static_cast<const float*>(arguments.inputs[index]) : nullptr;
  }

  void convolve(const KernelArguments& arguments, int64_t image, int64_t first_row, float* copy) const {
    const int64_t rows = std::min(bands_.band_rows(), bands_.out_height() - first_row);
    const int64_t plane = bands_.out_height() * bands_.out_width();
    bands_.copy(input(arguments, 0) + image * image_floats_, first_row, rows, copy);
    const float *residual = input(arguments, 3), *slope = input(arguments, 4);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = image * channels_ * plane + (first_row + row) * bands_.out_width();
      simd::ConvLine line = line_of(arguments, copy + row * bands_.row_step(), at);
      if (!depthwise_) {
        simd::conv_line(line);
      } else {
        convolve_by_channel(line);
      }
      for (int64_t channel = 0; channel < channels_; ++channel) {
        ending_.run(line.result + channel * plane, line.pixels,
                    residual == nullptr ? nullptr : residual + at + channel * plane,
                    slope == nullptr ? nullptr : slope + channel);
      }
    }
  }

  /// All channels of a row of the output, which begins `at` floats after the whole.
  simd::ConvLine line_of(const KernelArguments& arguments, const float* source, int64_t at) const {
    simd::ConvLine line{};
    line.source = source;
    line.offsets = offsets_.data();
    line.taps = static_cast<int64_t>(offsets_.size());
    line.weights = input(arguments, 1);
    line.bias = input(arguments, 2);
    line.channels = channels_;
    line.pixels = bands_.out_width();
    line.result = static_cast<float*>(arguments.outputs[0]) + at;
    line.result_stride = bands_.out_height() * bands_.out_width();
    return line;
  }

  void convolve_by_channel(simd::ConvLine line) const {
    line.channels = 1;
    for (int64_t channel = 0; channel < channels_; ++channel) {
      simd::conv_line(line);
      line.source += bands_.channel_step();
      line.weights += line.taps;
      if (line.bias != nullptr) ++line.bias;
      line.result += line.result_stride;
    }
  }

  ConvBands bands_;
  std::vector<int64_t> offsets_;
  LineEnding ending_;
  int64_t batch_, channels_;
  bool depthwise_;
  int64_t image_floats_;
};

bool is_depthwise(const ConvGeometry& geometry) {
  return geometry.groups > 1 && geometry.groups == geometry.x[1] && geometry.groups == geometry.y[1];
}

std::string obstacle(const Node& node) {
  if (has_empty_operand(node)) return "an operand has no elements";
  const ConvGeometry geometry = conv_geometry(node);
  const bool grouped = geometry.groups != 1 && !is_depthwise(geometry);
  if (geometry.rank() > 2 || grouped) return "not a convolution of one or two dimensions without groups or by channel";
  for (const Value* value : node.inputs()) {
    if (value != nullptr && value->dtype() != DType::kF32)
      return std::string("element type ") + name_of(value->dtype());
  }
  return "";
}

bool possible(const KernelRequest& request, std::string& declined) {
  declined = obstacle(request.node);
  if (!declined.empty() || request.by_name) return declined.empty();
  const ConvGeometry geometry = conv_geometry(request.node);
  const bool fixed = request.input_is_fixed.size() > 1 && request.input_is_fixed[1];
  if (!fixed) {
    declined = "the weights are not fixed";
  } else if (is_depthwise(geometry)) {
    // oneDNN has no quick way for one dimension unless channels fill whole vectors.
    if (geometry.rank() != 1) declined = "vectors of channels are well filled";
  } else if (geometry.y[1] > kMostChannels) {
    declined = "vectors of channels are well filled";
  } else if (geometry.y[-1] < 16) {
    declined = "lines are too short";
  } else if (geometry.w.num_elements() / geometry.w[0] < 8) {
    declined = "too few taps to be worth a copy of the image";
  }
  return declined.empty();
}

/// Where at least half of every vector would be empty, and where oneDNN has no direct kernel, as for very wide windows.
bool by_rule(const KernelRequest& request) {
  const ConvGeometry geometry = conv_geometry(request.node);
  return geometry.groups != 1 || geometry.y[1] <= kMostChannels / 2 || direct_is_slow(request);
}

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& declined) {
  if (!possible(request, declined)) return nullptr;
  if (request.tuner != nullptr && !request.by_name) return fastest_conv(request, conv_lines_forms(request), declined);
  if (!request.by_name && !by_rule(request)) {
    declined = "vectors of channels are well filled";
    return nullptr;
  }
  return std::make_unique<ConvLinesKernel>(request);
}

const RegisterKernel kConv(op::kConv, "lines", KernelPriority::kAheadOfOneDnn, make);

}  // namespace

std::vector<ConvForm> conv_lines_forms(const KernelRequest& request) {
  std::string declined;
  if (!possible(request, declined)) return {};
  return {{"lines", [&request] { return std::make_unique<ConvLinesKernel>(request); }, by_rule(request)}};
}

}  // namespace thalweg
