// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

/// Rewrites of a whole graph, each in place and with no effect on its meaning but the one it is named after.
namespace thalweg {

enum class Precision { kF32, kBF16 };
const char* name_of(Precision precision);
Precision precision_from_name(const std::string& name);
/// What to compute in when `wanted` was asked for: f32 in place of bf16, with a warning, on a CPU without bf16
/// instructions, where emulating them would take three times as long as f32. THALWEG_BF16=emulate in the environment
/// keeps bf16, for those who want its results.
Precision usable_precision(Precision wanted);

/// Which algorithms may stand for the plain sums of products: fast ones may round differently, within the accuracy that
/// docs/kernels.md states (Winograd's convolution).
enum class Math { kFast, kStrict };
const char* name_of(Math math);
Math math_from_name(const std::string& name);

/// How a kernel is chosen among those that compute the same: by a rule that depends on shapes alone, so that each run
/// gives the same bits; or by measuring, once on each kind of CPU, at inference a little after each run (kernels.md).
enum class Tuning { kFixed, kMeasured };
const char* name_of(Tuning tuning);
Tuning tuning_from_name(const std::string& name);

/// Turns a model in training form into one that infers: batch norms read their running statistics (the states named by
/// the node's attributes "running_mean" and "running_variance"), dropout goes, assignments go.
void to_inference(Graph& graph);
/// The same for a file that can be trained on: dropout stays.
void to_portable(Graph& graph);

/// Activations that are spelled in several nodes (SiLU, hard-swish, hard-sigmoid, both forms of GELU) become one node
/// each, powers of 2, 3 and 1/2 what they are, and the greater or lesser of a value and a number a bound.
void say_whole_activations(Graph& graph);

/// For inference: layer normalisation and attention that are spelled in several nodes become one node each, and
/// transposes that follow each other one or none.
void say_whole_layers(Graph& graph);

/// After to_inference: a bias or scale for each channel after a convolution or linear goes into its weights and bias.
void absorb_affine(Graph& graph);

/// conv/linear + ReLU, batch norm + ReLU, batch norm + add + ReLU become one node each. Before autodiff: the fused
/// nodes have gradient rules of their own.
void fuse_for_training(Graph& graph);

/// After to_inference: batch norms go into the weights of the convolution or linear before them, activations and
/// residual sums into the node that makes their input.
void fuse_for_inference(Graph& graph);

/// Convolutions, matrix products and what lies between them compute in bf16; parameters, statistics, losses and
/// reductions stay f32. Before autodiff: gradients then follow the same types, and arrive at the parameters as f32.
void use_bf16(Graph& graph);

/// After autodiff: gradients of weights that bf16 products would round and a cast would widen again are left in f32 by
/// the product itself.
void widen_weight_gradients(Graph& graph);

/// Where quantised values are multiplied as the numbers they stand for (dequantize, then conv, linear or matmul with
/// i8 weights, then quantize), the integers are multiplied instead, with all that follows in one node; but not on a CPU
/// without instructions for products of bytes, where that would be neither exact nor faster. After fuse_for_inference.
void use_int8(Graph& graph);

/// Equal nodes are merged, nodes that change nothing (x + 0, x * 1, casts and reshapes to the same type) and nodes that
/// nobody needs are removed.
void simplify(Graph& graph);

/// After autodiff: the sum of the two gradients that meet at a residual connection goes into the batch norm that reads
/// it, which saves a pass over memory.
void fuse_gradient_sums(Graph& graph);

/// For inference, at last: functions of one or two values, element by element, that follow each other become one node,
/// which goes over memory once. Values that somebody else reads stay. The graph must be static.
void fuse_elementwise(Graph& graph);

/// All of the above in the right order, then the gradients of `loss` for the trainable parameters.
/// The graph must be static.
void prepare_for_training(Graph& graph, Value* loss, Precision precision = Precision::kF32);
void prepare_for_inference(Graph& graph, Precision precision = Precision::kF32);

}  // namespace thalweg
