// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/losses.h"

#include "ops.h"
#include "training.h"

namespace thalweg::python {
namespace {

using losses::Reduction;
using losses::reduction_from_name;

const char* const kMean = losses::name_of(losses::CrossEntropyOptions{}.reduction);

/// Losses of a prediction and a target that have a reduction and nothing else.
void bind_plain(nb::module_& m) {
  using Plain = Value* (*)(Value*, Value*, Reduction);
  static constexpr std::pair<const char*, Plain> kPlain[] = {{"bce", losses::bce},
                                                             {"mse", losses::mse},
                                                             {"l1", losses::l1},
                                                             {"soft_margin", losses::soft_margin},
                                                             {"multilabel_margin", losses::multilabel_margin},
                                                             {"multilabel_soft_margin", losses::multilabel_soft_margin},
                                                             {"mape", losses::mape},
                                                             {"msle", losses::msle},
                                                             {"log_cosh", losses::log_cosh}};
  for (const auto& [name, function] : kPlain) {
    const Plain loss = function;
    def_op(
        m, name,
        [loss](Value* input, Value* target, const std::string& reduction) {
          return loss(input, target, reduction_from_name(reduction));
        },
        "input"_a, "target"_a, "reduction"_a = kMean);
  }
}

/// An option that is a value of the graph, or an array that becomes a constant of it, or None.
Value* optional_value(Value* like, nb::handle given) {
  Value* value = nullptr;
  if (given.is_none() || nb::try_cast(given, value)) return value;
  return as_value(like, to_tensor(given));
}

/// Those with a number besides.
void bind_with_number(nb::module_& m) {
  // Of every one of them (thalweg/losses.h).
  constexpr double kUsual = 1.0;
  const auto def = [&](const char* name, const char* argument, auto loss) {
    def_op(
        m, name,
        [loss](Value* input, Value* target, double number, const std::string& reduction) {
          return loss(input, target, number, reduction_from_name(reduction));
        },
        "input"_a, "target"_a, nb::arg(argument) = kUsual, "reduction"_a = kMean);
  };
  def("smooth_l1", "beta", losses::smooth_l1);
  def("huber", "delta", losses::huber);
  def("hinge", "margin", losses::hinge);
  def("squared_hinge", "margin", losses::squared_hinge);
  def("hinge_embedding", "margin", losses::hinge_embedding);
  def("dice", "smooth", losses::dice);
}

void bind_with_options(nb::module_& m) {
  const losses::CrossEntropyOptions usual;
  def_op(
      m, "cross_entropy",
      [](Value* input, Value* target, nb::handle weight, std::optional<int64_t> ignore_index,
         const std::string& reduction, double label_smoothing) {
        return losses::cross_entropy(
            input, target,
            {reduction_from_name(reduction), ignore_index, label_smoothing, optional_value(input, weight)});
      },
      "input"_a, "target"_a, "weight"_a.none() = nb::none(), "ignore_index"_a = nb::none(), "reduction"_a = kMean,
      "label_smoothing"_a = usual.label_smoothing,
      "Logits [N, C, ...] and class numbers [N, ...]; `weight` is an array or a value with a number for each class.");
  def_op(
      m, "nll",
      [](Value* input, Value* target, nb::handle weight, std::optional<int64_t> ignore_index,
         const std::string& reduction) {
        return losses::nll(input, target,
                           {reduction_from_name(reduction), ignore_index, optional_value(input, weight)});
      },
      "input"_a, "target"_a, "weight"_a.none() = nb::none(), "ignore_index"_a = nb::none(), "reduction"_a = kMean);
  def_op(
      m, "bce_with_logits",
      [](Value* input, Value* target, const std::string& reduction, nb::handle pos_weight) {
        return losses::bce_with_logits(input, target,
                                       {reduction_from_name(reduction), optional_value(input, pos_weight)});
      },
      "input"_a, "target"_a, "reduction"_a = kMean, "pos_weight"_a.none() = nb::none(),
      "`pos_weight` is an array or a value: how much targets of 1 count.");
  const losses::KlDivOptions kl;
  def_op(
      m, "kl_div",
      [](Value* input, Value* target, const std::string& reduction, bool log_target) {
        const bool batch_mean = reduction == "batchmean";
        return losses::kl_div(input, target,
                              {batch_mean ? Reduction::kMean : reduction_from_name(reduction), batch_mean, log_target});
      },
      "input"_a, "target"_a, "reduction"_a = kMean, "log_target"_a = kl.log_target);
}

}  // namespace

void bind_losses(nb::module_& module) {
  auto m = module.def_submodule("losses", "Losses: a value of one element, from a prediction and a target.");
  bind_plain(m);
  bind_with_number(m);
  bind_with_options(m);
  m.def("names", losses::names, "Those that go by name, as in Trainer(loss=\"cross_entropy\").");
}

}  // namespace thalweg::python
