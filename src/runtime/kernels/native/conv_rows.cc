// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Convolution of few channels, such as the first of a network for images.
#include "runtime/kernels/simd/conv_rows.h"

#include <omp.h>

#include <algorithm>

#include "ops/ids.h"
#include "runtime/kernels/native/conv_bands.h"
#include "runtime/kernels/native/conv_epilogue.h"
#include "runtime/kernels/native/conv_forms.h"
#include "runtime/kernels/native/conv_product_plan.h"

namespace thalweg {
namespace {

using Tag = dnnl::memory::format_tag;

/// Copies rows of a plain image with their padding, and lets each tap read from there: the columns of the product of
/// matrices are never written out.
class ConvRowsKernel : public Kernel {
 public:
  explicit ConvRowsKernel(const KernelRequest& request)
      : shape_(conv_product_shape(request.node)),
        bands_(conv_geometry(request.node), false, 0),
        offsets_(bands_.offsets(true)),  // in the order of the weights: (tap, channel)
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
    scratch_bytes =
        static_cast<size_t>(epilogue_.scratch_floats() + request.threads * bands_.copy_floats()) * sizeof(float);
  }

  void run(const KernelArguments& arguments) const override {
    auto* scratch = static_cast<float*>(arguments.scratch);
    const simd::ConvAfter after = epilogue_.prepare(arguments, outputs[0].bytes(), scratch);
    const int64_t bands = shape_.batch * bands_.bands_of_image();
#pragma omp parallel num_threads(arguments.threads)
    {
      const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
      float* source = scratch + epilogue_.scratch_floats() + thread * bands_.copy_floats();
      for (int64_t band = bands * thread / threads; band < bands * (thread + 1) / threads; ++band) {
        convolve(arguments, band / bands_.bands_of_image(), band % bands_.bands_of_image() * bands_.band_rows(), after,
                 source);
      }
    }
  }

 private:
  Layout blocked(const TensorType& type) const {
    return {type, {to_dnnl(type.shape), to_dnnl(type.dtype), shape_.lanes == 16 ? Tag::nChw16c : Tag::nChw8c}};
  }

  void convolve(const KernelArguments& arguments, int64_t image, int64_t first_row, const simd::ConvAfter& after,
                float* source) const {
    const simd::ConvPatches& patches = shape_.patches;
    const auto* x = static_cast<const float*>(arguments.inputs[0]);
    const auto* right = static_cast<const float*>(arguments.inputs[1]);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    const int64_t rows = std::min(bands_.band_rows(), bands_.out_height() - first_row);
    const int64_t image_floats = static_cast<int64_t>(inputs[0].bytes() / sizeof(float)) / shape_.batch;
    bands_.copy(x + image * image_floats, first_row, rows, source);
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
        job.source = source + row * bands_.row_step();
        job.result = y + at;
        job.after = after.at(panel * shape_.panel_floats(), at);
        simd::conv_row(job);
      }
    }
  }

  ConvProductShape shape_;
  ConvBands bands_;
  std::vector<int64_t> offsets_;
  ConvEpilogue epilogue_;
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
  return {{"rows", [&request] { return std::make_unique<ConvRowsKernel>(request); }, true}};
}

}  // namespace thalweg
