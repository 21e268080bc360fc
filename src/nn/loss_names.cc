// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/text.h"
#include "thalweg/losses.h"

namespace thalweg::losses {

const char* name_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::kMean: return "mean";
    case Reduction::kSum: return "sum";
    case Reduction::kNone: return "none";
  }
  return "";
}

Reduction reduction_from_name(const std::string& name) {
  for (const Reduction reduction : {Reduction::kMean, Reduction::kSum, Reduction::kNone}) {
    if (name == name_of(reduction)) return reduction;
  }
  raise("unknown reduction '", name, "'; there are mean, sum and none");
}

namespace {

using Entry = std::pair<const char*, Value* (*)(Value*, Value*)>;

constexpr Entry kLosses[] = {
    {"cross_entropy", [](Value* x, Value* y) { return cross_entropy(x, y); }},
    {"nll", [](Value* x, Value* y) { return nll(x, y); }},
    {"bce", [](Value* x, Value* y) { return bce(x, y); }},
    {"bce_with_logits", [](Value* x, Value* y) { return bce_with_logits(x, y); }},
    {"mse", [](Value* x, Value* y) { return mse(x, y); }},
    {"l1", [](Value* x, Value* y) { return l1(x, y); }},
    {"smooth_l1", [](Value* x, Value* y) { return smooth_l1(x, y); }},
    {"huber", [](Value* x, Value* y) { return huber(x, y); }},
    {"kl_div", [](Value* x, Value* y) { return kl_div(x, y); }},
    {"hinge", [](Value* x, Value* y) { return hinge(x, y); }},
    {"squared_hinge", [](Value* x, Value* y) { return squared_hinge(x, y); }},
    {"soft_margin", [](Value* x, Value* y) { return soft_margin(x, y); }},
    {"multi_margin", [](Value* x, Value* y) { return multi_margin(x, y); }},
    {"multilabel_margin", [](Value* x, Value* y) { return multilabel_margin(x, y); }},
    {"multilabel_soft_margin", [](Value* x, Value* y) { return multilabel_soft_margin(x, y); }},
    {"poisson_nll", [](Value* x, Value* y) { return poisson_nll(x, y); }},
    {"dice", [](Value* x, Value* y) { return dice(x, y); }},
    {"mape", [](Value* x, Value* y) { return mape(x, y); }},
    {"msle", [](Value* x, Value* y) { return msle(x, y); }},
    {"log_cosh", [](Value* x, Value* y) { return log_cosh(x, y); }},
};

}  // namespace

LossFunction by_name(const std::string& name) {
  for (const auto& [known, build] : kLosses) {
    if (name == known) return build;
  }
  raise("unknown loss '", name, "'; nearest: ", nearest_names(name, names()));
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto& [name, build] : kLosses) result.emplace_back(name);
  return result;
}

}  // namespace thalweg::losses
