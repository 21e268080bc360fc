// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/graph.h"

/// Losses: graph of a prediction and a target, reduced to a scalar. Names, formulas and defaults are PyTorch's where
/// PyTorch has the loss. Shapes of prediction and target must be equal unless said otherwise.
namespace thalweg::losses {

enum class Reduction { kMean, kSum, kNone };
/// "mean", "sum", "none".
const char* name_of(Reduction reduction);
Reduction reduction_from_name(const std::string& name);

struct CrossEntropyOptions {
  Reduction reduction = Reduction::kMean;
  /// Rows with this label count for nothing, not even in the mean.
  std::optional<int64_t> ignore_index = std::nullopt;
  double label_smoothing = 0.0;
  /// A weight per class, f32 [C], or null. With label smoothing each class's share of it is weighted too.
  Value* weight = nullptr;
};
/// Logits [N, C, ...] and class numbers [N, ...].
Value* cross_entropy(Value* logits, Value* labels, const CrossEntropyOptions& options = {});

struct NllOptions {
  Reduction reduction = Reduction::kMean;
  std::optional<int64_t> ignore_index = std::nullopt;
  Value* weight = nullptr;
};
/// Log-probabilities [N, C, ...] and class numbers [N, ...].
Value* nll(Value* log_probabilities, Value* labels, const NllOptions& options = {});

/// Probabilities; their logarithms are cut off at -100.
Value* bce(Value* probabilities, Value* target, Reduction reduction = Reduction::kMean);
struct BceWithLogitsOptions {
  Reduction reduction = Reduction::kMean;
  /// Weight of positive targets, broadcasting, or null.
  Value* pos_weight = nullptr;
};
Value* bce_with_logits(Value* logits, Value* target, const BceWithLogitsOptions& options = {});

Value* mse(Value* prediction, Value* target, Reduction reduction = Reduction::kMean);
Value* l1(Value* prediction, Value* target, Reduction reduction = Reduction::kMean);
Value* smooth_l1(Value* prediction, Value* target, double beta = 1.0, Reduction reduction = Reduction::kMean);
Value* huber(Value* prediction, Value* target, double delta = 1.0, Reduction reduction = Reduction::kMean);

struct KlDivOptions {
  Reduction reduction = Reduction::kMean;
  /// With kMean: divide by the batch alone, which is what the definition says.
  bool batch_mean = false;
  /// The target is given as logarithms too.
  bool log_target = false;
};
Value* kl_div(Value* log_probabilities, Value* target, const KlDivOptions& options = {});

/// Targets -1 or 1: mean of max(0, margin - target * prediction), and its square.
Value* hinge(Value* prediction, Value* target, double margin = 1.0, Reduction reduction = Reduction::kMean);
Value* squared_hinge(Value* prediction, Value* target, double margin = 1.0, Reduction reduction = Reduction::kMean);
/// Targets -1 or 1: x where 1, max(0, margin - x) where -1 (PyTorch's HingeEmbeddingLoss).
Value* hinge_embedding(Value* x, Value* target, double margin = 1.0, Reduction reduction = Reduction::kMean);
/// log(1 + exp(-target * prediction)).
Value* soft_margin(Value* prediction, Value* target, Reduction reduction = Reduction::kMean);
/// max(0, -target * (x1 - x2) + margin): target 1 wants x1 above x2.
Value* margin_ranking(Value* x1, Value* x2, Value* target, double margin = 0.0, Reduction reduction = Reduction::kMean);
/// Scores [N, C], class numbers [N]: sum over i != y of max(0, margin - x[y] + x[i])^p / C, p 1 or 2.
Value* multi_margin(Value* scores, Value* labels, int64_t p = 1, double margin = 1.0,
                    Reduction reduction = Reduction::kMean);
/// Scores [N, C]; target [N, C] is 1 for the classes that hold and 0 for the others (PyTorch lists class numbers):
/// sum over pairs (holds j, does not hold i) of max(0, 1 - x[j] + x[i]) / C.
Value* multilabel_margin(Value* scores, Value* target, Reduction reduction = Reduction::kMean);
/// Mean over classes of bce_with_logits.
Value* multilabel_soft_margin(Value* scores, Value* target, Reduction reduction = Reduction::kMean);
/// x1, x2 [N, D], target [N] of -1 or 1: 1 - cos(x1, x2) where 1, max(0, cos - margin) where -1.
Value* cosine_embedding(Value* x1, Value* x2, Value* target, double margin = 0.0,
                        Reduction reduction = Reduction::kMean);
/// Anchors nearer to positives than to negatives by `margin`, in Euclidean distance; all [N, D].
Value* triplet_margin(Value* anchor, Value* positive, Value* negative, double margin = 1.0,
                      Reduction reduction = Reduction::kMean);

struct PoissonNllOptions {
  Reduction reduction = Reduction::kMean;
  /// The input is the logarithm of the rate.
  bool log_input = true;
  double eps = 1e-8;
};
Value* poisson_nll(Value* input, Value* target, const PoissonNllOptions& options = {});
/// With a predicted variance.
Value* gaussian_nll(Value* prediction, Value* target, Value* variance, double eps = 1e-6,
                    Reduction reduction = Reduction::kMean);

/// 1 - (2 sum(p t) + smooth) / (sum(p) + sum(t) + smooth) per sample, over all dimensions but the first.
Value* dice(Value* probabilities, Value* target, double smooth = 1.0, Reduction reduction = Reduction::kMean);
/// 100 * |target - prediction| / max(|target|, 1e-7).
Value* mape(Value* prediction, Value* target, Reduction reduction = Reduction::kMean);
/// (log(1 + target) - log(1 + prediction))^2, both cut off below at 1e-7.
Value* msle(Value* prediction, Value* target, Reduction reduction = Reduction::kMean);
/// log(cosh(prediction - target)).
Value* log_cosh(Value* prediction, Value* target, Reduction reduction = Reduction::kMean);

/// The losses above that have a prediction and a target only, by name ("cross_entropy", "mse", ...), with their
/// defaults. An unknown name throws and lists the nearest.
using LossFunction = std::function<Value*(Value* prediction, Value* target)>;
LossFunction by_name(const std::string& name);
std::vector<std::string> names();

}  // namespace thalweg::losses
