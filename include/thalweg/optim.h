// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/tensor.h"

namespace thalweg::optim {

class UpdateRule;

/// Settings for the parameters whose names match `pattern` ('*' stands for any characters, '?' for
/// one). Several groups may match one parameter: they apply in order, and what a later one sets
/// replaces what an earlier one set.
struct ParameterGroup {
  std::string pattern;
  std::optional<double> learning_rate_factor = std::nullopt;
  /// Replaces the optimiser's own weight decay.
  std::optional<double> weight_decay = std::nullopt;
  /// Regularisation: l1 * sign(w) + l2 * w is added to the gradient, after clipping.
  std::optional<double> l1 = std::nullopt;
  std::optional<double> l2 = std::nullopt;
  /// A frozen parameter is not updated, has no slots, and costs a training step no backward work.
  std::optional<bool> frozen = std::nullopt;
  /// Whether LARS and LAMB scale the step by the ratio of norms; usually not for biases and
  /// normalisation.
  std::optional<bool> layer_adaptation = std::nullopt;
};

/// What holds for one parameter once all groups are applied.
struct ParameterSettings {
  double learning_rate_factor = 1.0;
  double weight_decay = 0.0;
  double l1 = 0.0;
  double l2 = 0.0;
  bool frozen = false;
  bool layer_adaptation = true;
};

/// State that an optimiser keeps for each element of a parameter, for checkpoints.
struct Slot {
  std::string name;
  /// Lives as long as the optimiser; writing to it restores a checkpoint.
  std::span<float> values;
  /// True if element i belongs to element i of the parameter, in the parameter's physical order.
  bool same_layout_as_parameter = true;
};

/// Updates parameters one by one, each as soon as its gradient is final, in one pass over its
/// memory.
///
/// Parameters may be in any physical order: the rules are elementwise, and padding that is zero
/// stays zero. Different parameters may be updated from different threads at the same time;
/// begin_step must not overlap with them. Every update runs on the threads of the calling
/// thread; small parameters stay on the calling thread.
class Optimizer {
 public:
  explicit Optimizer(std::unique_ptr<UpdateRule> rule);
  Optimizer(Optimizer&&) noexcept;
  Optimizer& operator=(Optimizer&&) noexcept;
  ~Optimizer();

  /// As in make_optimizer: "adam".
  const std::string& name() const;
  /// What a user who sets none gets.
  double default_learning_rate() const;

  /// Before the first parameter is added. A group with an impossible value throws.
  void set_groups(std::vector<ParameterGroup> groups);
  /// Adds a parameter of `size` elements, padding included, and returns its index: 0, 1, ...
  size_t add_parameter(const std::string& name, int64_t size);
  /// Throws if the pattern of some group matched no parameter, which is most likely misspelt.
  void check_groups() const;
  size_t num_parameters() const;
  const std::string& parameter_name(size_t parameter) const;
  const ParameterSettings& settings(size_t parameter) const;
  /// Of the parameter of that name, or what it would have if it were added.
  ParameterSettings settings_of(const std::string& name) const;
  /// Later changes of what is trained. Slots of a parameter that thaws start afresh if it had none.
  void set_frozen(size_t parameter, bool frozen);
  /// Grows with every call of set_frozen that changes something.
  uint64_t frozen_version() const;

  /// Multiplies every gradient before anything else: 1/n for the mean over n accumulated batches,
  /// or the factor of clipping by norm. Holds until it is set again.
  void set_gradient_scale(double scale);
  /// Limits every element of the scaled gradient to [-bound, bound]; infinity, the default,
  /// switches it off.
  void set_clip_value(double bound);

  /// Starts a step: the updates that follow use this learning rate.
  void begin_step(double learning_rate);
  /// `bf16_copy`, if given, receives the new values rounded to bf16 in the same pass.
  void update(size_t parameter, std::span<float> value, std::span<const float> gradient,
              std::span<BF16> bf16_copy = {});
  /// Updates only the named rows of a table and their slots, as torch.optim.SparseAdam does: the
  /// moments of the other rows do not decay, nor are they regularised. `rows` may repeat and be
  /// unordered: gradients of the same row are added up in the order in which they come.
  /// `row_gradients` has rows.size() rows of `row_size`.
  void update_rows(size_t parameter, std::span<float> table, int64_t row_size, std::span<const int64_t> rows,
                   std::span<const float> row_gradients, std::span<BF16> bf16_copy = {});

  /// False if the step of an element depends on other elements of its parameter, as with LARS and LAMB.
  bool elementwise() const;
  /// How an update is made that does not follow `begin_step` and `set_gradient_scale`.
  struct PartUpdate {
    double learning_rate = 0.0;
    double gradient_scale = 1.0;
  };
  /// Updates the elements from `begin` on, of an elementwise optimiser: `value` and `gradient` are those elements
  /// alone. It counts as no update: the caller does that with `set_updates`, once for all parts of a parameter and
  /// before them.
  void update_part(size_t parameter, size_t begin, std::span<float> value, std::span<const float> gradient,
                   const PartUpdate& how);
  /// The slots of these elements start afresh, and memory that only they need goes back to the system.
  void forget_part(size_t parameter, size_t begin, size_t end);

  /// The state for a checkpoint: slots and, for each parameter, how many times it was updated.
  std::vector<Slot> slots(size_t parameter);
  int64_t updates(size_t parameter) const;
  void set_updates(size_t parameter, int64_t count);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Sum of squares, added up in an order that depends on the size alone: same values, same bits,
/// whatever the threads.
double norm_squared(std::span<const float> values);
/// The gradient scale that limits the norm over all gradients to `max_norm`, as
/// torch.nn.utils.clip_grad_norm_ does.
double norm_clip_scale(double total_norm_squared, double max_norm);

// The optimisers. Formulas and defaults are those of PyTorch where PyTorch has the optimiser;
// weight decay is added to the gradient unless said otherwise. Every epsilon must be positive.

struct SgdOptions {
  double momentum = 0.0;
  double dampening = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
};

struct AdagradOptions {
  double learning_rate_decay = 0.0;
  double initial_accumulator = 0.0;
  double epsilon = 1e-10;
  double weight_decay = 0.0;
};

struct AdadeltaOptions {
  double rho = 0.9;
  double epsilon = 1e-6;
  double weight_decay = 0.0;
};

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  bool amsgrad = false;
  double weight_decay = 0.0;
};

/// Weight decay shrinks the parameter directly, apart from the gradient.
struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  bool amsgrad = false;
  double weight_decay = 0.01;
};

struct AdamaxOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
};

struct RmspropOptions {
  double alpha = 0.99;
  double epsilon = 1e-8;
  bool centered = false;
  double momentum = 0.0;
  double weight_decay = 0.0;
};

/// FTRL-Proximal (McMahan et al., 2013) with the options and defaults of TensorFlow. `l1` and `l2`
/// act in the closed form, so that small parameters become exactly zero; those of a ParameterGroup
/// act on the gradient.
struct FtrlOptions {
  double learning_rate_power = -0.5;
  double initial_accumulator = 0.1;
  double l1 = 0.0;
  double l2 = 0.0;
  double l2_shrinkage = 0.0;
  double beta = 0.0;
};

/// Layer-wise adaptive rate scaling (You et al., 2017): the step of each parameter is scaled by
/// trust * |w| / (|g| + weight_decay * |w| + epsilon).
struct LarsOptions {
  double momentum = 0.9;
  bool nesterov = false;
  double trust = 0.001;
  double epsilon = 1e-9;
  double weight_decay = 0.0;
};

/// Layer-wise adaptive moments (You et al., 2019). Weight decay is part of the direction whose norm
/// is compared.
struct LambOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.0;
};

Optimizer sgd(const SgdOptions& options = {});
Optimizer adagrad(const AdagradOptions& options = {});
Optimizer adadelta(const AdadeltaOptions& options = {});
Optimizer adam(const AdamOptions& options = {});
Optimizer adamw(const AdamWOptions& options = {});
Optimizer adamax(const AdamaxOptions& options = {});
Optimizer rmsprop(const RmspropOptions& options = {});
Optimizer ftrl(const FtrlOptions& options = {});
Optimizer lars(const LarsOptions& options = {});
Optimizer lamb(const LambOptions& options = {});

/// By name, with the options above by their names (flags as 0 or 1): make_optimizer("sgd",
/// {{"momentum", 0.9}}). An unknown name or option throws and lists those there are.
Optimizer make_optimizer(const std::string& name, const std::map<std::string, double>& options = {});
std::vector<std::string> optimizer_names();

}  // namespace thalweg::optim
