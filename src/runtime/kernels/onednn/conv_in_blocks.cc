// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Convolutions whose groups, or whose channels, are smaller than a block of channels. oneDNN computes them in narrow
// vectors or on row-major memory, with a reorder before and after. With zeros in the weights several groups are one
// that fills whole blocks, and the padding of the last block counts as channels.
#include <algorithm>
#include <cstring>

#include "ops/fused_activation.h"
#include "ops/ids.h"
#include "runtime/kernels/onednn/conv_desc.h"
#include "runtime/kernels/onednn/eltwise.h"
#include "runtime/kernels/simd/channel_blocks.h"

namespace thalweg {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

int64_t rounded_up(int64_t value, int64_t block) { return (value + block - 1) / block * block; }

/// The formats of a number of spatial dimensions, with channels in blocks.
struct BlockTags {
  Tag activation, weights, grouped_weights;
};

BlockTags block_tags(size_t rank, int64_t block) {
  const bool wide = block == 16;
  switch (rank) {
    case 1:
      return {wide ? Tag::nCw16c : Tag::nCw8c, wide ? Tag::OIw16i16o : Tag::OIw8i8o,
              wide ? Tag::gOIw16i16o : Tag::gOIw8i8o};
    case 2:
      return {wide ? Tag::nChw16c : Tag::nChw8c, wide ? Tag::OIhw16i16o : Tag::OIhw8i8o,
              wide ? Tag::gOIhw16i16o : Tag::gOIhw8i8o};
    default:
      return {wide ? Tag::nCdhw16c : Tag::nCdhw8c, wide ? Tag::OIdhw16i16o : Tag::OIdhw8i8o,
              wide ? Tag::gOIdhw16i16o : Tag::gOIdhw8i8o};
  }
}

/// The convolution of whole blocks that stands for one of smaller groups.
struct JoinedConv {
  int64_t block = 0;
  int64_t joined = 1;  ///< groups that become one
  ConvGeometry own, wide;

  int64_t in() const { return own.w[1]; }                ///< channels that an output channel sees
  int64_t out() const { return own.w[0] / own.groups; }  ///< output channels of a group
  int64_t wide_in() const { return wide.w[1]; }
  int64_t wide_out() const { return wide.w[0] / wide.groups; }
};

Shape with_channels(const Shape& shape, int64_t channels) {
  Shape result = shape;
  result[1] = channels;
  return result;
}

/// The least number of groups that fill whole blocks on both sides.
int64_t groups_to_join(const JoinedConv& conv) {
  int64_t joined = 1;
  while (joined * conv.in() % conv.block != 0 || joined * conv.out() % conv.block != 0) ++joined;
  return joined;
}

/// False, with the reason, if the convolution does not become one of whole blocks, or not without too many zeros.
bool join_groups(JoinedConv& conv, std::string& declined) {
  const ConvGeometry& own = conv.own;
  const bool grouped = own.groups > 1;
  const int64_t smaller = std::min(conv.in(), conv.out());
  conv.joined = grouped ? groups_to_join(conv) : 1;
  // Vectors are as much fuller as there are more products with zeros.
  if (grouped && (conv.joined == 1 || conv.joined > std::max<int64_t>(2, conv.block / smaller))) {
    declined = "groups fill blocks, or would be mostly zeros";
  } else if (!grouped && (conv.in() >= conv.block || 2 * conv.in() < conv.block)) {
    declined = "channels fill blocks, or would be mostly zeros";
  }
  if (!declined.empty()) return false;
  conv.wide = own;
  conv.wide.groups = (own.groups + conv.joined - 1) / conv.joined;
  const int64_t in = conv.wide.groups * rounded_up(conv.joined * conv.in(), conv.block);
  const int64_t out = conv.wide.groups * rounded_up(conv.joined * conv.out(), conv.block);
  conv.wide.x = with_channels(own.x, in);
  conv.wide.y = with_channels(own.y, out);
  conv.wide.w = with_channels(own.w, in / conv.wide.groups);
  conv.wide.w[0] = out;
  // Further channels must be the padding of the last block.
  if (in != rounded_up(own.x[1], conv.block) || out != rounded_up(own.y[1], conv.block)) {
    declined = "the last groups do not fill blocks";
  }
  return declined.empty();
}

/// Weights of the joined groups: zero where an output channel does not see an input channel.
std::unique_ptr<Kernel> make_joined_weights(const JoinedConv& conv, const TensorType& type, const memory::desc& md) {
  const int64_t taps = type.shape.num_elements(2, type.shape.rank());
  auto kernel = std::make_unique<FunctionKernel>([conv, taps](const KernelArguments& arguments) {
    const auto* from = static_cast<const float*>(arguments.inputs[0]);
    auto* to = static_cast<float*>(arguments.outputs[0]);
    const int64_t block = conv.block, in_blocks = conv.wide_in() / block;
    std::memset(to, 0, static_cast<size_t>(conv.wide.w.num_elements()) * sizeof(float));
    for (int64_t o = 0; o < conv.own.w[0]; ++o) {
      const int64_t out_block = o / block;  // groups follow each other, each of whole blocks
      const int64_t first = o / conv.out() % conv.joined * conv.in();
      for (int64_t i = 0; i < conv.in(); ++i) {
        const int64_t wide_i = first + i;
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t piece = (out_block * in_blocks + wide_i / block) * taps + tap;
          to[(piece * block + wide_i % block) * block + o % block] = from[(o * conv.in() + i) * taps + tap];
        }
      }
    }
  });
  kernel->name = "weights of joined groups";
  kernel->inputs = {Layout(type)};
  kernel->outputs = {Layout({type.dtype, conv.wide.w}, md)};
  return kernel;
}

/// The bias, and zeros for the padding.
std::unique_ptr<Kernel> make_padded_bias(const TensorType& type, int64_t channels) {
  const int64_t own = type.shape[0];
  auto kernel = std::make_unique<FunctionKernel>([own, channels](const KernelArguments& arguments) {
    auto* to = static_cast<float*>(arguments.outputs[0]);
    std::copy_n(static_cast<const float*>(arguments.inputs[0]), own, to);
    std::fill(to + own, to + channels, 0.0F);
  });
  kernel->name = "padded bias";
  kernel->inputs = {Layout(type)};
  kernel->outputs = {Layout({type.dtype, Shape{channels}})};
  return kernel;
}

bool possible(const KernelRequest& request, const JoinedConv& conv, std::string& declined) {
  const Node& node = request.node;
  const bool fixed = request.input_is_fixed.size() > 1 && request.input_is_fixed[1];
  for (const Value* value : node.inputs()) {
    if (value != nullptr && value->dtype() != DType::kF32)
      declined = std::string("element type ") + name_of(value->dtype());
  }
  const bool depthwise = conv.in() == 1 && conv.out() == 1;
  if (conv.block < 8) {
    declined = "needs AVX2";
  } else if (has_empty_operand(node)) {
    declined = "an operand has no elements";
  } else if (!fixed && !request.by_name) {
    declined = "the weights are not fixed";
  } else if (conv.own.groups > 1 && depthwise) {
    declined = "each group is one channel";
  } else if (conv.own.groups == 1 && request.inputs[0].is_plain() && !request.by_name) {
    declined = "the input is row-major";
  } else if (node.input(4) != nullptr) {
    declined = "slopes for each channel";
  } else if (conv.own.y[1] % conv.block != 0 &&
             finished(fused_activation(node.attrs()), fused_affine(node.attrs()), 0.0) != 0.0) {
    declined = "padding would not stay zero";
  }
  return declined.empty();
}

constexpr int kResidualArgument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;

class JoinedConvKernel : public OneDnnKernel {
 public:
  /// An input of the primitive that is derived from an input of the node.
  void bind_derived(int argument, int input, std::unique_ptr<Kernel> kernel) {
    const memory::desc md = kernel->outputs[0].desc();
    bind_extra_input(argument, inputs.size() + derived.size(), md);
    derived.push_back({input, std::move(kernel)});
    unread.push_back(input);
  }
};

/// The operands of the joined convolution, all in blocks.
struct JoinedDescs {
  BlockTags tags;
  memory::desc x, weights, y;

  JoinedDescs(const JoinedConv& conv, const ConvProblem& problem)
      : tags(block_tags(conv.own.rank(), conv.block)),
        x(blocked(conv.wide.x)),
        weights(problem.weights, memory::data_type::f32, conv.wide.groups > 1 ? tags.grouped_weights : tags.weights),
        y(blocked(conv.wide.y)) {}

  memory::desc blocked(const Shape& shape) const { return {to_dnnl(shape), memory::data_type::f32, tags.activation}; }
};

dnnl::convolution_forward::primitive_desc joined_forward(const Node& node, const JoinedConv& conv,
                                                         const ConvProblem& problem, const JoinedDescs& descs) {
  dnnl::post_ops after;
  if (node.input(3) != nullptr) after.append_binary(dnnl::algorithm::binary_add, descs.y);
  append_activation(node.attrs(), after);
  dnnl::primitive_attr attr = onednn_attr();
  attr.set_post_ops(after);
  const memory::desc bias = node.input(2) != nullptr ? f32_vector(conv.wide.y[1]) : memory::desc();
  return problem.forward({descs.x, descs.weights, descs.y, bias}, attr, dnnl::prop_kind::forward_inference);
}

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  JoinedConv conv{simd::block_lanes(simd::best_isa()), 1, conv_geometry(node), {}};
  if (!possible(request, conv, declined) || !join_groups(conv, declined)) return nullptr;
  const ConvProblem problem(conv.wide);
  const JoinedDescs descs(conv, problem);
  const auto pd = joined_forward(node, conv, problem, descs);
  if (!pd || !is_fast_implementation(pd.impl_info_str())) {
    declined = "no fast implementation in blocks";
    return nullptr;
  }
  auto kernel = std::make_unique<JoinedConvKernel>();
  kernel->set_primitive(dnnl::convolution_forward(pd), pd.impl_info_str());
  kernel->name += " joined";
  kernel->inputs = plain_inputs(node);
  kernel->bind_input(DNNL_ARG_SRC, 0, Layout(node.input(0)->type(), descs.blocked(conv.own.x)), descs.x);
  if (const Value* residual = node.input(3); residual != nullptr) {
    kernel->bind_input(kResidualArgument, 3, Layout(residual->type(), descs.blocked(conv.own.y)), descs.y);
  }
  kernel->bind_derived(DNNL_ARG_WEIGHTS, 1, make_joined_weights(conv, node.input(1)->type(), descs.weights));
  if (const Value* bias = node.input(2); bias != nullptr) {
    kernel->bind_derived(DNNL_ARG_BIAS, 2, make_padded_bias(bias->type(), conv.wide.y[1]));
  }
  kernel->bind_output(DNNL_ARG_DST, 0, Layout(node.output()->type(), descs.blocked(conv.own.y)), descs.y);
  kernel->use_scratchpad(pd.scratchpad_desc());
  return kernel;
}

const RegisterKernel kConv(op::kConv, "joined", KernelPriority::kAheadOfOneDnn, make);

}  // namespace
}  // namespace thalweg
