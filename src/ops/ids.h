// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/op_id.h"

/// What the ops are called by, wherever one is matched, built or given a kernel. An op of the table in elementwise.cc
/// that nobody asks for by name needs no entry.
namespace thalweg::op {

// clang-format off
// Elementwise, of one value.
inline constexpr OpId kRelu{"relu"}, kLeakyRelu{"leaky_relu"}, kElu{"elu"}, kSelu{"selu"}, kCelu{"celu"}, kGelu{"gelu"},
    kGeluTanh{"gelu_tanh"}, kSilu{"silu"}, kMish{"mish"}, kSigmoid{"sigmoid"}, kLogSigmoid{"log_sigmoid"},
    kHardSigmoid{"hard_sigmoid"}, kHardSwish{"hard_swish"}, kTanh{"tanh"}, kSoftplus{"softplus"}, kSoftsign{"softsign"},
    kHardShrink{"hard_shrink"}, kSoftShrink{"soft_shrink"}, kTanhShrink{"tanh_shrink"}, kThreshold{"threshold"},
    kClip{"clip"}, kExp{"exp"}, kLog{"log"}, kSqrt{"sqrt"}, kRsqrt{"rsqrt"}, kSquare{"square"},
    kReciprocal{"reciprocal"}, kAbs{"abs"}, kErf{"erf"}, kSin{"sin"}, kCos{"cos"}, kTan{"tan"}, kAsin{"asin"},
    kAcos{"acos"}, kAtan{"atan"}, kSinh{"sinh"}, kCosh{"cosh"}, kAsinh{"asinh"}, kAcosh{"acosh"}, kAtanh{"atanh"},
    kNeg{"neg"}, kSign{"sign"}, kFloor{"floor"}, kCeil{"ceil"}, kRound{"round"}, kLogicalNot{"logical_not"},
    kBitNot{"bit_not"};

// Elementwise, of two.
inline constexpr OpId kAdd{"add"}, kSub{"sub"}, kMul{"mul"}, kDiv{"div"}, kPow{"pow"}, kMinimum{"minimum"},
    kMaximum{"maximum"}, kPrelu{"prelu"}, kEqual{"equal"}, kLess{"less"}, kLessEqual{"less_equal"}, kGreater{"greater"},
    kGreaterEqual{"greater_equal"}, kLogicalAnd{"logical_and"}, kLogicalOr{"logical_or"}, kLogicalXor{"logical_xor"},
    kModulo{"modulo"}, kBitAnd{"bit_and"}, kBitOr{"bit_or"}, kBitXor{"bit_xor"}, kShiftLeft{"shift_left"},
    kShiftRight{"shift_right"};

// All others.
inline constexpr OpId kArgMax{"arg_max"}, kArgMin{"arg_min"}, kAttention{"attention"}, kAttentionGrad{"attention_grad"},
    kAvgPool{"avg_pool"}, kAvgPoolGrad{"avg_pool_grad"}, kBatchNorm{"batch_norm"}, kBatchNormGrad{"batch_norm_grad"},
    kBatchNormInference{"batch_norm_inference"}, kCast{"cast"}, kConcat{"concat"}, kConv{"conv"},
    kConvGradData{"conv_grad_data"}, kConvGradWeights{"conv_grad_weights"}, kConvTranspose{"conv_transpose"},
    kCumsum{"cumsum"}, kDequantize{"dequantize"}, kDropout{"dropout"}, kDropoutGrad{"dropout_grad"},
    kDynamicLinear{"dynamic_linear"}, kDynamicQuantize{"dynamic_quantize"}, kElementwiseChain{"elementwise_chain"}, kElementCount{"element_count"},
    kEmbedding{"embedding"}, kExpand{"expand"}, kExpandLike{"expand_like"}, kGather{"gather"},
    kGatherElements{"gather_elements"}, kGatherGrad{"gather_grad"}, kGaussianNoise{"gaussian_noise"},
    kGroupNorm{"group_norm"}, kGroupNormGrad{"group_norm_grad"}, kGru{"gru"}, kGruGrad{"gru_grad"},
    kInterpolate{"interpolate"}, kInterpolateGrad{"interpolate_grad"}, kLayerNorm{"layer_norm"},
    kLayerNormGrad{"layer_norm_grad"}, kLinear{"linear"}, kLinearGradWeights{"linear_grad_weights"},
    kLogSoftmax{"log_softmax"}, kLogSoftmaxGrad{"log_softmax_grad"}, kLrn{"lrn"}, kLrnGrad{"lrn_grad"}, kLstm{"lstm"},
    kLstmGrad{"lstm_grad"}, kMatmul{"matmul"}, kMatmulInteger{"matmul_integer"}, kMaxPool{"max_pool"},
    kMaxPoolGrad{"max_pool_grad"}, kPad{"pad"}, kPadGrad{"pad_grad"}, kQuantize{"quantize"},
    kQuantizedAdd{"quantized_add"}, kQuantizedConv{"quantized_conv"}, kQuantizedLinear{"quantized_linear"},
    kReduceL1{"reduce_l1"}, kReduceL2{"reduce_l2"}, kReduceLogSumExp{"reduce_log_sum_exp"}, kReduceMax{"reduce_max"},
    kReduceMean{"reduce_mean"}, kReduceMin{"reduce_min"}, kReduceProd{"reduce_prod"}, kReduceSum{"reduce_sum"},
    kReshape{"reshape"}, kReshapeLike{"reshape_like"}, kRnn{"rnn"}, kRnnGrad{"rnn_grad"},
    kScatterElements{"scatter_elements"}, kScatterRowsAdd{"scatter_rows_add"}, kSlice{"slice"},
    kSliceGrad{"slice_grad"}, kSoftmax{"softmax"}, kSoftmaxCrossEntropy{"softmax_cross_entropy"},
    kSoftmaxCrossEntropyGrad{"softmax_cross_entropy_grad"}, kSoftmaxGrad{"softmax_grad"}, kSplit{"split"},
    kSqueeze{"squeeze"}, kStopGradient{"stop_gradient"}, kTile{"tile"}, kTileGrad{"tile_grad"}, kTopK{"top_k"},
    kTranspose{"transpose"}, kUnaryGrad{"unary_grad"}, kUnsqueeze{"unsqueeze"}, kWhere{"where"};
// clang-format on

}  // namespace thalweg::op
