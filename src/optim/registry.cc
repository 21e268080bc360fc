// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/optim.h"

namespace thalweg::optim {
namespace {

// The names of the options, once per optimiser: what the bindings and the command line can set.

template <typename Visitor>
void visit_options(SgdOptions& o, const Visitor& visit) {
  visit("momentum", o.momentum);
  visit("dampening", o.dampening);
  visit("nesterov", o.nesterov);
  visit("weight_decay", o.weight_decay);
}

template <typename Visitor>
void visit_options(AdagradOptions& o, const Visitor& visit) {
  visit("learning_rate_decay", o.learning_rate_decay);
  visit("initial_accumulator", o.initial_accumulator);
  visit("epsilon", o.epsilon);
  visit("weight_decay", o.weight_decay);
}

template <typename Visitor>
void visit_options(AdadeltaOptions& o, const Visitor& visit) {
  visit("rho", o.rho);
  visit("epsilon", o.epsilon);
  visit("weight_decay", o.weight_decay);
}

template <typename Options, typename Visitor>
void visit_moment_options(Options& o, const Visitor& visit) {
  visit("beta1", o.beta1);
  visit("beta2", o.beta2);
  visit("epsilon", o.epsilon);
  visit("weight_decay", o.weight_decay);
}

template <typename Visitor>
void visit_options(AdamOptions& o, const Visitor& visit) {
  visit_moment_options(o, visit);
  visit("amsgrad", o.amsgrad);
}

template <typename Visitor>
void visit_options(AdamWOptions& o, const Visitor& visit) {
  visit_moment_options(o, visit);
  visit("amsgrad", o.amsgrad);
}

template <typename Visitor>
void visit_options(AdamaxOptions& o, const Visitor& visit) {
  visit_moment_options(o, visit);
}

template <typename Visitor>
void visit_options(RmspropOptions& o, const Visitor& visit) {
  visit("alpha", o.alpha);
  visit("epsilon", o.epsilon);
  visit("centered", o.centered);
  visit("momentum", o.momentum);
  visit("weight_decay", o.weight_decay);
}

template <typename Visitor>
void visit_options(FtrlOptions& o, const Visitor& visit) {
  visit("learning_rate_power", o.learning_rate_power);
  visit("initial_accumulator", o.initial_accumulator);
  visit("l1", o.l1);
  visit("l2", o.l2);
  visit("l2_shrinkage", o.l2_shrinkage);
  visit("beta", o.beta);
}

template <typename Visitor>
void visit_options(LarsOptions& o, const Visitor& visit) {
  visit("momentum", o.momentum);
  visit("nesterov", o.nesterov);
  visit("trust", o.trust);
  visit("epsilon", o.epsilon);
  visit("weight_decay", o.weight_decay);
}

template <typename Visitor>
void visit_options(LambOptions& o, const Visitor& visit) {
  visit_moment_options(o, visit);
}

using OptionMap = std::map<std::string, double>;

template <typename Options, Optimizer (*kMake)(const Options&)>
Optimizer make_from(const std::string& name, const OptionMap& given) {
  Options options;
  OptionMap unknown = given;
  std::string known;
  visit_options(options, [&](const char* option, auto& field) {
    known += (known.empty() ? "" : ", ") + std::string(option);
    const auto found = unknown.find(option);
    if (found == unknown.end()) return;
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, bool>) {
      TW_REQUIRE(found->second == 0.0 || found->second == 1.0, "optimizer ", name, ": ", option, " is ", found->second,
                 ", must be 0 or 1");
      field = found->second == 1.0;
    } else {
      field = found->second;
    }
    unknown.erase(found);
  });
  TW_REQUIRE(unknown.empty(), "optimizer ", name, " has no option \"", unknown.begin()->first, "\"; it has ", known);
  return kMake(options);
}

struct Entry {
  const char* name;
  Optimizer (*make)(const std::string& name, const OptionMap& options);
};

constexpr Entry kOptimizers[] = {
    {"sgd", make_from<SgdOptions, sgd>},
    {"adagrad", make_from<AdagradOptions, adagrad>},
    {"adadelta", make_from<AdadeltaOptions, adadelta>},
    {"adam", make_from<AdamOptions, adam>},
    {"adamw", make_from<AdamWOptions, adamw>},
    {"adamax", make_from<AdamaxOptions, adamax>},
    {"rmsprop", make_from<RmspropOptions, rmsprop>},
    {"ftrl", make_from<FtrlOptions, ftrl>},
    {"lars", make_from<LarsOptions, lars>},
    {"lamb", make_from<LambOptions, lamb>},
};

}  // namespace

Optimizer make_optimizer(const std::string& name, const std::map<std::string, double>& options) {
  std::string known;
  for (const Entry& entry : kOptimizers) {
    if (name == entry.name) return entry.make(name, options);
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  raise("unknown optimizer \"", name, "\"; there are ", known);
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kOptimizers) names.emplace_back(entry.name);
  return names;
}

}  // namespace thalweg::optim
