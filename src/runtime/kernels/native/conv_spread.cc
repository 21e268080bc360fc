// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Transposed convolutions whose windows do not overlap, as they double the size of pictures in segmentation and
// detection: each pixel of the input becomes a rectangle of the output by itself, so that all of them are one product
// of matrices.
#include <algorithm>
#include <cstring>

#include "ops/conv_geometry.h"
#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/conv_epilogue.h"
#include "runtime/kernels/simd/conv_product.h"

namespace thalweg {
namespace {

using Tag = dnnl::memory::format_tag;

/// Products of a thread that wait to be put into the output should stay in a second-level cache.
constexpr int64_t kWaitingFloats = int64_t{64} << 10;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Sizes of the product: pixels of the input by columns, of which there is one for each output channel and place of the
/// rectangle.
struct SpreadShape {
  int64_t lanes = 0, panel_vectors = 0;
  int64_t batch = 0, in = 0, height = 0, width = 0;
  int64_t out = 0, step_y = 0, step_x = 0;
  /// The output lies in blocks of channels; otherwise it is row-major, as of few channels it would be mostly padding.
  bool blocked = false;

  explicit SpreadShape(const Node& node) {
    const ConvGeometry geometry = conv_geometry(node);
    lanes = simd::block_lanes(simd::best_isa());
    panel_vectors = simd::panel_vectors(simd::best_isa());
    batch = geometry.y[0];
    in = geometry.y[1];
    height = geometry.y[2];
    width = geometry.y[3];
    out = geometry.x[1];
    step_y = geometry.window.strides[0];
    step_x = geometry.window.strides[1];
    blocked = 2 * out >= lanes;
  }

  int64_t in_blocks() const { return ceil_div(in, lanes); }
  int64_t rows() const { return in_blocks() * lanes; }  ///< of the right side
  int64_t out_blocks() const { return ceil_div(out, lanes); }
  int64_t places() const { return step_y * step_x; }
  int64_t column(int64_t channel, int64_t place) const {
    return blocked ? place * out_blocks() * lanes + channel : channel * places() + place;
  }
  int64_t vectors() const { return blocked ? places() * out_blocks() : ceil_div(out * places(), lanes); }
  int64_t panels() const { return ceil_div(vectors(), panel_vectors); }
  int64_t panel_floats() const { return panel_vectors * lanes; }
  int64_t right_floats() const { return panels() * rows() * panel_floats(); }
  /// Rows of the input whose products wait at a time.
  int64_t band() const { return std::clamp<int64_t>(kWaitingFloats / (width * vectors() * lanes), 1, height); }
};

/// The weights [in, out, places] as panels.
std::unique_ptr<Kernel> make_panels(const SpreadShape& shape, const TensorType& type) {
  auto kernel = std::make_unique<FunctionKernel>([shape](const KernelArguments& arguments) {
    const auto* from = static_cast<const float*>(arguments.inputs[0]);
    auto* to = static_cast<float*>(arguments.outputs[0]);
    std::memset(to, 0, static_cast<size_t>(shape.right_floats()) * sizeof(float));
    for (int64_t c = 0; c < shape.in; ++c) {
      for (int64_t o = 0; o < shape.out; ++o) {
        for (int64_t place = 0; place < shape.places(); ++place) {
          const int64_t column = shape.column(o, place), panel = column / shape.panel_floats();
          to[(panel * shape.rows() + c) * shape.panel_floats() + column % shape.panel_floats()] = *from++;
        }
      }
    }
  });
  kernel->name = "panels of rectangles";
  kernel->inputs = {Layout(type)};
  kernel->outputs = {Layout({type.dtype, Shape{shape.right_floats()}})};
  return kernel;
}

class ConvSpreadKernel : public Kernel {
 public:
  explicit ConvSpreadKernel(const KernelRequest& request)
      : shape_(request.node), epilogue_(request.node, shape_.out_blocks() * shape_.lanes) {
    const Node& node = request.node;
    const Tag tag = shape_.lanes == 16 ? Tag::nChw16c : Tag::nChw8c;
    const auto blocked = [&](const TensorType& type) {
      return Layout(type, {to_dnnl(type.shape), to_dnnl(type.dtype), tag});
    };
    name = "native spread";
    inputs = plain_inputs(node);
    inputs[0] = blocked(node.input(0)->type());
    outputs = {shape_.blocked ? blocked(node.output()->type()) : Layout(node.output()->type())};
    unread = {1};
    weights_ = node.inputs().size();
    has_bias_ = node.input(2) != nullptr;
    derived.push_back({1, make_panels(shape_, node.input(1)->type())});
    thread_floats_ = shape_.band() * shape_.width * (shape_.vectors() * shape_.lanes + shape_.panel_floats());
    scratch_bytes = static_cast<size_t>(epilogue_.scratch_floats() + bias_floats() + request.threads * thread_floats_) *
                    sizeof(float);
  }

  void run(const KernelArguments& arguments) const override {
    auto* scratch = static_cast<float*>(arguments.scratch);
    simd::ConvAfter after = epilogue_.prepare(arguments, 0, scratch);
    float* bias = scratch + epilogue_.scratch_floats();
    if (has_bias_) after.bias = spread_bias(static_cast<const float*>(arguments.inputs[2]), bias);
    const int64_t bands = ceil_div(shape_.height, shape_.band()), jobs = shape_.batch * bands;
    const int64_t parts = std::min<int64_t>(arguments.threads, jobs);
#pragma omp parallel for schedule(static, 1) num_threads(arguments.threads)
    for (int64_t part = 0; part < parts; ++part) {
      float* waiting = bias + bias_floats() + part * thread_floats_;
      for (int64_t job = jobs * part / parts; job < jobs * (part + 1) / parts; ++job) {
        const int64_t image = job / bands, row = job % bands * shape_.band();
        const int64_t rows = std::min(shape_.band(), shape_.height - row);
        multiply(arguments, after, image, row, rows, waiting);
        auto* y = static_cast<float*>(arguments.outputs[0]);
        shape_.blocked ? put_blocks(waiting, image, row, rows, y) : put_channels(waiting, image, row, rows, y);
      }
    }
  }

 private:
  int64_t bias_floats() const { return has_bias_ ? shape_.panels() * shape_.panel_floats() : 0; }

  const float* spread_bias(const float* bias, float* to) const {
    std::fill_n(to, bias_floats(), 0.0F);
    for (int64_t o = 0; o < shape_.out; ++o) {
      for (int64_t place = 0; place < shape_.places(); ++place) to[shape_.column(o, place)] = bias[o];
    }
    return to;
  }

  /// All columns of some rows of the input, [vectors][pixels][lanes].
  void multiply(const KernelArguments& arguments, const simd::ConvAfter& after, int64_t image, int64_t row,
                int64_t rows, float* waiting) const {
    const SpreadShape& s = shape_;
    const int64_t plane = s.height * s.width * s.lanes;
    const auto* right = static_cast<const float*>(arguments.inputs[weights_]);
    simd::ConvProduct product{};
    product.left =
        static_cast<const float*>(arguments.inputs[0]) + image * s.in_blocks() * plane + row * s.width * s.lanes;
    product.left_stride = plane;
    product.left_blocks = s.in_blocks();
    product.pixels = rows * s.width;
    product.partial = waiting + s.band() * s.width * s.vectors() * s.lanes;
    product.result_stride = product.pixels * s.lanes;
    for (int64_t panel = 0; panel < s.panels(); ++panel) {
      product.right = right + panel * s.rows() * s.panel_floats();
      product.vectors = static_cast<int>(std::min(s.panel_vectors, s.vectors() - panel * s.panel_vectors));
      product.result = waiting + panel * s.panel_vectors * product.result_stride;
      product.after = after.at(panel * s.panel_floats(), 0);
      simd::conv_product(product);
    }
  }

  void put_blocks(const float* waiting, int64_t image, int64_t first, int64_t rows, float* y) const {
    const SpreadShape& s = shape_;
    const int64_t pixels = rows * s.width, out_width = s.width * s.step_x;
    const size_t block = static_cast<size_t>(s.lanes) * sizeof(float);
    for (int64_t at = 0; at < s.vectors() * rows; ++at) {
      const int64_t vector = at / rows, row = at % rows;
      const int64_t place = vector / s.out_blocks(), out_block = vector % s.out_blocks();
      const int64_t out_row = (first + row) * s.step_y + place / s.step_x;
      const float* from = waiting + (vector * pixels + row * s.width) * s.lanes;
      float* to =
          y + (((image * s.out_blocks() + out_block) * s.height * s.step_y + out_row) * out_width + place % s.step_x) *
                  s.lanes;
      for (int64_t x = 0; x < s.width; ++x) std::memcpy(to + x * s.step_x * s.lanes, from + x * s.lanes, block);
    }
  }

  void put_channels(const float* waiting, int64_t image, int64_t first, int64_t rows, float* y) const {
    const SpreadShape& s = shape_;
    const int64_t pixels = rows * s.width, out_width = s.width * s.step_x;
    for (int64_t o = 0; o < s.out; ++o) {
      for (int64_t at = 0; at < rows * s.places(); ++at) {
        const int64_t row = at / s.places(), place = at % s.places(), column = s.column(o, place);
        const int64_t out_row = (first + row) * s.step_y + place / s.step_x;
        const float* from = waiting + (column / s.lanes * pixels + row * s.width) * s.lanes + column % s.lanes;
        float* to = y + ((image * s.out + o) * s.height * s.step_y + out_row) * out_width + place % s.step_x;
        for (int64_t x = 0; x < s.width; ++x) to[x * s.step_x] = from[x * s.lanes];
      }
    }
  }

  SpreadShape shape_;
  ConvEpilogue epilogue_;
  size_t weights_ = 0;
  bool has_bias_ = false;
  int64_t thread_floats_ = 0;
};

bool windows_overlap(const ConvGeometry& geometry) {
  for (size_t d = 0; d < geometry.rank(); ++d) {
    const Window& window = geometry.window;
    if (window.kernel[d] != window.strides[d] || window.dilations[d] != 1) return true;
    if (window.begins[d] != 0 || window.ends[d] != 0) return true;
  }
  return false;
}

std::string obstacle(const KernelRequest& request) {
  const Node& node = request.node;
  if (simd::best_isa() == simd::Isa::kBaseline) return "needs AVX2";
  if (has_empty_operand(node)) return "an operand has no elements";
  for (const Value* value : node.inputs()) {
    if (value != nullptr && value->dtype() != DType::kF32)
      return std::string("element type ") + name_of(value->dtype());
  }
  const ConvGeometry geometry = conv_geometry(node);
  if (geometry.rank() != 2 || geometry.groups != 1) return "not of two dimensions with groups 1";
  for (const int64_t extra : node.attrs().integers("output_padding")) {
    if (extra != 0) return "padding of the output";
  }
  if (windows_overlap(geometry)) return "windows overlap, or have padding";
  const bool fixed = request.input_is_fixed.size() > 1 && request.input_is_fixed[1];
  if (!fixed && !request.by_name) return "the weights are not fixed";
  return ConvEpilogue::obstacle(node);
}

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& declined) {
  declined = obstacle(request);
  return declined.empty() ? std::make_unique<ConvSpreadKernel>(request) : nullptr;
}

const RegisterKernel kTranspose(op::kConvTranspose, "spread", KernelPriority::kAheadOfOneDnn, make);

}  // namespace
}  // namespace thalweg
