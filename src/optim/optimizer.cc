// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "optim/coalesce.h"
#include "optim/groups.h"
#include "optim/update_rule.h"
#include "thalweg/optim.h"

namespace thalweg::optim {
namespace {

struct Parameter {
  std::string name;
  int64_t size = 0;
  ParameterSettings settings;
  std::vector<Tensor> slots;  // empty while frozen from the start
  int64_t updates = 0;
  RowCoalescer coalescer;  // here, not shared: parameters may be updated at the same time
};

/// Makes the values zero, whole pages by giving them back: they are zeros when they are touched again.
void clear_and_release(float* begin, float* end) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto* first = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(begin) + page - 1) / page * page);
  auto* last = reinterpret_cast<float*>(reinterpret_cast<uintptr_t>(end) / page * page);
  const bool released =
      first < last && ::madvise(first, static_cast<size_t>(last - first) * sizeof(float), MADV_DONTNEED) == 0;
  std::fill(begin, released ? first : end, 0.0f);
  if (released) std::fill(last, end, 0.0f);
}

}  // namespace

struct Optimizer::State {
  std::unique_ptr<UpdateRule> rule;
  std::vector<SlotSpec> slot_specs;
  std::vector<ParameterGroup> groups;
  std::vector<bool> group_matched;
  std::vector<Parameter> parameters;
  uint64_t frozen_version = 0;
  double learning_rate = 0.0;
  double gradient_scale = 1.0;
  double clip_value = std::numeric_limits<double>::infinity();

  Parameter& at(size_t index) {
    TW_REQUIRE(index < parameters.size(), "optimizer ", rule->name(), ": no parameter ", index, ", there are ",
               parameters.size());
    return parameters[index];
  }

  ParameterSettings settings_by_groups(const std::string& name) const {
    ParameterSettings settings;
    settings.weight_decay = rule->weight_decay();
    for (const ParameterGroup& group : groups) {
      if (matches_pattern(group.pattern, name)) apply_group(group, settings);
    }
    return settings;
  }

  void allocate_slots(Parameter& parameter) const {
    for (const SlotSpec& spec : slot_specs) {
      parameter.slots.push_back(Tensor::full<float>({parameter.size}, spec.initial));
    }
  }

  StepContext context(const Parameter& parameter) const { return context(parameter, {learning_rate, gradient_scale}); }
  StepContext context(const Parameter& parameter, const PartUpdate& how) const {
    return {how.learning_rate * parameter.settings.learning_rate_factor, parameter.updates, how.gradient_scale,
            clip_value, parameter.settings};
  }

  static simd::UpdateTarget target(const Parameter& parameter, std::span<float> value, const float* gradient,
                                   std::span<BF16> bf16_copy);
};

simd::UpdateTarget Optimizer::State::target(const Parameter& parameter, std::span<float> value, const float* gradient,
                                            std::span<BF16> bf16_copy) {
  const auto count = static_cast<int64_t>(value.size());
  TW_REQUIRE(count == parameter.size, "parameter ", parameter.name, " was added with ", parameter.size,
             " elements and is updated with ", count);
  TW_REQUIRE(bf16_copy.empty() || bf16_copy.size() == value.size(), "parameter ", parameter.name,
             ": the bf16 copy has ", bf16_copy.size(), " elements, not ", count);
  simd::UpdateTarget result;
  result.value = value.data();
  result.gradient = gradient;
  result.count = count;
  static_assert(sizeof(BF16) == sizeof(uint16_t));
  if (!bf16_copy.empty()) result.bf16_copy = &bf16_copy.data()->bits;
  for (size_t s = 0; s < parameter.slots.size(); ++s) {
    result.slots[s] = parameter.slots[s].data<float>();
  }
  return result;
}

Optimizer::Optimizer(std::unique_ptr<UpdateRule> rule) : state_(std::make_unique<State>()) {
  state_->rule = std::move(rule);
  state_->slot_specs = state_->rule->slots();
  state_->learning_rate = state_->rule->default_learning_rate();
}

Optimizer::Optimizer(Optimizer&&) noexcept = default;
Optimizer& Optimizer::operator=(Optimizer&&) noexcept = default;
Optimizer::~Optimizer() = default;

const std::string& Optimizer::name() const { return state_->rule->name(); }

double Optimizer::default_learning_rate() const { return state_->rule->default_learning_rate(); }

void Optimizer::set_groups(std::vector<ParameterGroup> groups) {
  TW_REQUIRE(state_->parameters.empty(), "optimizer ", name(),
             ": parameter groups must be set before the first parameter is added");
  std::for_each(groups.begin(), groups.end(), check_group);
  state_->group_matched.assign(groups.size(), false);
  state_->groups = std::move(groups);
}

size_t Optimizer::add_parameter(const std::string& name, int64_t size) {
  TW_REQUIRE(size >= 0, "parameter ", name, " has a negative size: ", size);
  Parameter parameter;
  parameter.name = name;
  parameter.size = size;
  parameter.settings = state_->settings_by_groups(name);
  for (size_t g = 0; g < state_->groups.size(); ++g) {
    if (matches_pattern(state_->groups[g].pattern, name)) state_->group_matched[g] = true;
  }
  if (!parameter.settings.frozen) state_->allocate_slots(parameter);
  state_->parameters.push_back(std::move(parameter));
  return state_->parameters.size() - 1;
}

void Optimizer::check_groups() const {
  for (size_t g = 0; g < state_->groups.size(); ++g) {
    TW_REQUIRE(state_->group_matched[g], "parameter group \"", state_->groups[g].pattern, "\" matches none of the ",
               state_->parameters.size(), " parameters", state_->parameters.empty() ? "" : ", the first of which is ",
               state_->parameters.empty() ? "" : state_->parameters.front().name);
  }
}

size_t Optimizer::num_parameters() const { return state_->parameters.size(); }

const std::string& Optimizer::parameter_name(size_t parameter) const { return state_->at(parameter).name; }

const ParameterSettings& Optimizer::settings(size_t parameter) const { return state_->at(parameter).settings; }

ParameterSettings Optimizer::settings_of(const std::string& name) const {
  for (const Parameter& parameter : state_->parameters) {
    if (parameter.name == name) return parameter.settings;
  }
  return state_->settings_by_groups(name);
}

uint64_t Optimizer::frozen_version() const { return state_->frozen_version; }

void Optimizer::set_frozen(size_t index, bool frozen) {
  Parameter& parameter = state_->at(index);
  if (parameter.settings.frozen != frozen) ++state_->frozen_version;
  parameter.settings.frozen = frozen;
  if (!frozen && parameter.slots.empty()) state_->allocate_slots(parameter);
}

void Optimizer::set_gradient_scale(double scale) { state_->gradient_scale = scale; }

void Optimizer::set_clip_value(double bound) {
  TW_REQUIRE(bound > 0.0, "gradients cannot be clipped to [-", bound, ", ", bound, "]");
  state_->clip_value = bound;
}

void Optimizer::begin_step(double learning_rate) {
  TW_REQUIRE(learning_rate >= 0.0 && std::isfinite(learning_rate), "optimizer ", name(), ": the learning rate is ",
             learning_rate);
  state_->learning_rate = learning_rate;
}

void Optimizer::update(size_t index, std::span<float> value, std::span<const float> gradient,
                       std::span<BF16> bf16_copy) {
  Parameter& parameter = state_->at(index);
  if (parameter.settings.frozen) return;
  TW_REQUIRE(gradient.size() == value.size(), "parameter ", parameter.name, " has ", value.size(),
             " elements, its gradient ", gradient.size());
  const simd::UpdateTarget target = State::target(parameter, value, gradient.data(), bf16_copy);
  ++parameter.updates;
  state_->rule->apply(state_->context(parameter), target);
}

void Optimizer::update_rows(size_t index, std::span<float> table, int64_t row_size, std::span<const int64_t> rows,
                            std::span<const float> row_gradients, std::span<BF16> bf16_copy) {
  Parameter& parameter = state_->at(index);
  if (parameter.settings.frozen) return;
  const auto size = static_cast<int64_t>(table.size());
  TW_REQUIRE(row_size > 0 && size % row_size == 0, "parameter ", parameter.name, " of ", size,
             " elements has no rows of ", row_size);
  TW_REQUIRE(row_gradients.size() == rows.size() * static_cast<size_t>(row_size), "parameter ", parameter.name, ": ",
             rows.size(), " rows of ", row_size, " come with ", row_gradients.size(), " gradient elements");
  simd::UpdateTarget target = State::target(parameter, table, row_gradients.data(), bf16_copy);
  const simd::RowList list =
      parameter.coalescer.coalesce(parameter.name, rows, size / row_size, row_size, row_gradients);
  target.rows = &list;
  ++parameter.updates;
  state_->rule->apply(state_->context(parameter), target);
}

bool Optimizer::elementwise() const { return state_->rule->elementwise(); }

void Optimizer::update_part(size_t index, size_t begin, std::span<float> value, std::span<const float> gradient,
                            const PartUpdate& how) {
  Parameter& parameter = state_->at(index);
  if (parameter.settings.frozen) return;
  TW_REQUIRE(elementwise(), "optimizer ", name(), " compares whole parameters: it cannot update a part of ",
             parameter.name);
  TW_REQUIRE(gradient.size() == value.size() && begin + value.size() <= static_cast<size_t>(parameter.size),
             "parameter ", parameter.name, " has ", parameter.size, " elements: no part of ", value.size(), " from ",
             begin, " on with a gradient of ", gradient.size());
  simd::UpdateTarget target;
  target.value = value.data();
  target.gradient = gradient.data();
  target.count = static_cast<int64_t>(value.size());
  for (size_t s = 0; s < parameter.slots.size(); ++s) target.slots[s] = parameter.slots[s].data<float>() + begin;
  state_->rule->apply(state_->context(parameter, how), target);
}

void Optimizer::forget_part(size_t index, size_t begin, size_t end) {
  Parameter& parameter = state_->at(index);
  TW_REQUIRE(begin <= end && end <= static_cast<size_t>(parameter.size), "parameter ", parameter.name, " has ",
             parameter.size, " elements: there is no part [", begin, ", ", end, ")");
  for (size_t s = 0; s < parameter.slots.size(); ++s) {
    float* values = parameter.slots[s].data<float>();
    const float initial = state_->slot_specs[s].initial;
    if (initial == 0.0f) {
      clear_and_release(values + begin, values + end);
    } else {
      std::fill(values + begin, values + end, initial);
    }
  }
}

std::vector<Slot> Optimizer::slots(size_t index) {
  const Parameter& parameter = state_->at(index);
  std::vector<Slot> result;
  for (size_t s = 0; s < parameter.slots.size(); ++s) {
    const std::span<float> values{parameter.slots[s].data<float>(), static_cast<size_t>(parameter.size)};
    result.push_back({state_->slot_specs[s].name, values, true});
  }
  return result;
}

int64_t Optimizer::updates(size_t parameter) const { return state_->at(parameter).updates; }

void Optimizer::set_updates(size_t index, int64_t count) {
  Parameter& parameter = state_->at(index);
  TW_REQUIRE(count >= 0, "parameter ", parameter.name, " cannot have been updated ", count, " times");
  parameter.updates = count;
}

double norm_squared(std::span<const float> values) {
  const auto count = static_cast<int64_t>(values.size());
  const int64_t blocks = (count + simd::kOptimizerBlock - 1) / simd::kOptimizerBlock;
  std::vector<double> partial(static_cast<size_t>(blocks));
  simd::sum_squares(values.data(), count, partial.data());
  return std::accumulate(partial.begin(), partial.end(), 0.0);
}

double norm_clip_scale(double total_norm_squared, double max_norm) {
  TW_REQUIRE(max_norm > 0.0, "gradients cannot be clipped to the norm ", max_norm);
  constexpr double kEpsilon = 1e-6;  // PyTorch's
  return std::min(1.0, max_norm / (std::sqrt(total_norm_squared) + kEpsilon));
}

}  // namespace thalweg::optim
