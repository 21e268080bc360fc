// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Convolution of few channels, such as the first of a network for images.
#include "runtime/kernels/simd/conv_rows.h"

#include <omp.h>

#include <algorithm>

#include "ops/ids.h"
#include "runtime/kernels/native/conv_epilogue.h"
#include "runtime/kernels/native/conv_forms.h"
#include "runtime/kernels/native/conv_product_plan.h"

namespace thalweg {
namespace {

using Tag = dnnl::memory::format_tag;

/// Rows of an image that are copied at a time should stay in a second-level cache.
constexpr int64_t kSourceBytes = int64_t{160} << 10;

/// Copies rows of a plain image with their padding, and lets each tap read from there: the columns of the product of
/// matrices are never written out.
class ConvRowsKernel : public Kernel {
 public:
  explicit ConvRowsKernel(const KernelRequest& request)
      : shape_(conv_product_shape(request.node)),
        channels_(request.node.input(0)->shape()[1]),
        epilogue_(request.node, shape_.panels() * shape_.panel_floats()) {
    const Node& node = request.node;
    name = "native rows";
    inputs = plain_inputs(node);
    const TensorType& weights = node.input(1)->type();
    inputs[1] = {
        weights,
        {to_dnnl(weights.shape), to_dnnl(weights.dtype), shape_.panel_floats() == 64 ? Tag::Ohwi64o : Tag::Ohwi16o}};
    if (epilogue_.has_residual()) inputs[3] = blocked(node.input(3)->type());
    outputs = {blocked(node.output()->type())};
    plan();
    scratch_bytes = static_cast<size_t>(epilogue_.scratch_floats() + request.threads * source_floats_) * sizeof(float);
  }

  void run(const KernelArguments& arguments) const override {
    auto* scratch = static_cast<float*>(arguments.scratch);
    const simd::ConvAfter after = epilogue_.prepare(arguments, outputs[0].bytes(), scratch);
    const int64_t bands = shape_.batch * bands_of_image_;
#pragma omp parallel num_threads(arguments.threads)
    {
      const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
      float* source = scratch + epilogue_.scratch_floats() + thread * source_floats_;
      for (int64_t band = bands * thread / threads; band < bands * (thread + 1) / threads; ++band) {
        convolve(arguments, band / bands_of_image_, band % bands_of_image_ * band_rows_, after, source);
      }
    }
  }

 private:
  Layout blocked(const TensorType& type) const {
    return {type, {to_dnnl(type.shape), to_dnnl(type.dtype), shape_.lanes == 16 ? Tag::nChw16c : Tag::nChw8c}};
  }

  /// Rows of the image that `rows` rows of the output need.
  int64_t source_rows(int64_t rows) const {
    const simd::ConvPatches& patches = shape_.patches;
    return (rows - 1) * patches.stride_y + (patches.kernel_y - 1) * patches.dilation_y + 1;
  }

  void plan() {
    const simd::ConvPatches& patches = shape_.patches;
    source_width_ = (patches.out_width - 1) * patches.stride_x + (patches.kernel_x - 1) * patches.dilation_x + 1;
    const int64_t row_floats = channels_ * source_width_;
    out_height_ = shape_.pixels / patches.out_width;
    const int64_t most_rows = kSourceBytes / (row_floats * static_cast<int64_t>(sizeof(float)));
    band_rows_ = std::clamp<int64_t>((most_rows - source_rows(1)) / patches.stride_y + 1, 1, out_height_);
    bands_of_image_ = (out_height_ + band_rows_ - 1) / band_rows_;
    source_floats_ = source_rows(band_rows_) * row_floats;
    // In the order of the weights: (tap, channel).
    for (int64_t y = 0; y < patches.kernel_y; ++y) {
      for (int64_t x = 0; x < patches.kernel_x; ++x) {
        for (int64_t channel = 0; channel < channels_; ++channel) {
          offsets_.push_back(y * patches.dilation_y * row_floats + channel * source_width_ + x * patches.dilation_x);
        }
      }
    }
  }

  /// Fills [rows][channels][source_width_] with what begins at row `first` of the padded image.
  void copy_rows(const float* image, int64_t first, int64_t rows, float* to) const {
    const simd::ConvPatches& patches = shape_.patches;
    const int64_t left = std::min(patches.pad_x, source_width_);
    const int64_t inside = std::min(patches.width, source_width_ - left);
    for (int64_t row = first - patches.pad_y; row < first - patches.pad_y + rows; ++row) {
      for (int64_t channel = 0; channel < channels_; ++channel, to += source_width_) {
        if (row < 0 || row >= patches.height) {
          std::fill_n(to, source_width_, 0.0F);
          continue;
        }
        std::fill_n(to, left, 0.0F);
        std::copy_n(image + (channel * patches.height + row) * patches.width, inside, to + left);
        std::fill(to + left + inside, to + source_width_, 0.0F);
      }
    }
  }

  void convolve(const KernelArguments& arguments, int64_t image, int64_t first_row, const simd::ConvAfter& after,
                float* source) const {
    const simd::ConvPatches& patches = shape_.patches;
    const auto* x = static_cast<const float*>(arguments.inputs[0]);
    const auto* right = static_cast<const float*>(arguments.inputs[1]);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    const int64_t rows = std::min(band_rows_, out_height_ - first_row);
    copy_rows(x + image * channels_ * patches.height * patches.width, first_row * patches.stride_y, source_rows(rows),
              source);
    simd::ConvRow job{};
    job.offsets = offsets_.data();
    job.taps = static_cast<int64_t>(offsets_.size());
    job.pixel_stride = patches.stride_x;
    job.pixels = patches.out_width;
    job.result_stride = shape_.pixels * shape_.lanes;
    for (int64_t panel = 0; panel < shape_.panels(); ++panel) {
      job.right = right + panel * job.taps * shape_.panel_floats();
      job.vectors = shape_.vectors_of(panel);
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t at = (image * shape_.out_blocks + panel * shape_.panel_vectors) * job.result_stride +
                           (first_row + row) * job.pixels * shape_.lanes;
        job.source = source + row * patches.stride_y * channels_ * source_width_;
        job.result = y + at;
        job.after = after.at(panel * shape_.panel_floats(), at);
        simd::conv_row(job);
      }
    }
  }

  ConvProductShape shape_;
  int64_t channels_;
  ConvEpilogue epilogue_;
  int64_t source_width_ = 0, source_floats_ = 0;
  int64_t out_height_ = 0, band_rows_ = 0, bands_of_image_ = 0;
  std::vector<int64_t> offsets_;
};

bool possible(const KernelRequest& request, std::string& declined) {
  declined = conv_product_obstacle(request);
  if (!declined.empty() || request.by_name) return declined.empty();
  const ConvGeometry geometry = conv_geometry(request.node);
  if (geometry.x[1] >= 16 || geometry.y[1] < 32) {
    declined = "not from few channels to many";
  } else if (!request.inputs[0].is_plain()) {
    declined = "the input is not plain";
  }
  return declined.empty();
}

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& declined) {
  if (!possible(request, declined)) return nullptr;
  if (request.tuner != nullptr && !request.by_name) return fastest_conv(request, conv_rows_forms(request), declined);
  return std::make_unique<ConvRowsKernel>(request);
}

const RegisterKernel kConv(op::kConv, "rows", KernelPriority::kAheadOfOneDnn, make);

}  // namespace

std::vector<ConvForm> conv_rows_forms(const KernelRequest& request) {
  std::string declined;
  if (!possible(request, declined)) return {};
  return {{"rows", [&request] { return std::make_unique<ConvRowsKernel>(request); }}};
}

}  // namespace thalweg
