// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/conv_forms.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "runtime/kernel_trial.h"
#include "runtime/kernels/simd/dispatch.h"
#include "runtime/tuner.h"

namespace thalweg {
namespace {

/// All that the time depends on.
std::string key_of(const KernelRequest& request) {
  const Node& node = request.node;
  std::ostringstream key;
  key << node.op_name() << ' ' << node.attrs().to_string();
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (node.input(i) == nullptr) continue;
    key << ' ' << node.input(i)->shape() << (i < request.input_is_fixed.size() && request.input_is_fixed[i] ? "f" : "");
  }
  key << ' ' << simd::name_of(simd::best_isa()) << " x" << request.threads;
  return key.str();
}

/// oneDNN's kernel for the node.
std::unique_ptr<Kernel> make_direct(const KernelRequest& request) {
  for (const KernelCandidate& candidate : kernel_candidates(request.node.op_name())) {
    if (candidate.name != "onednn") continue;
    std::string ignored;
    return candidate.factory(request, ignored);
  }
  return nullptr;
}

std::vector<ConvForm> all_forms(const KernelRequest& request) {
  std::vector<ConvForm> forms{{"direct", [&request] { return make_direct(request); }}};
  for (auto* make : {winograd_forms, conv_product_forms, conv_rows_forms, conv_lines_forms}) {
    for (ConvForm& form : make(request)) forms.push_back(std::move(form));
  }
  return forms;
}

}  // namespace

std::unique_ptr<Kernel> fastest_conv(const KernelRequest& request, const std::vector<ConvForm>& offered,
                                     std::string& declined) {
  const auto take = [&](const std::string& fastest) -> std::unique_ptr<Kernel> {
    const auto chosen =
        std::find_if(offered.begin(), offered.end(), [&](const ConvForm& form) { return form.name == fastest; });
    if (chosen != offered.end()) return chosen->make();
    declined = "'" + fastest + "' was measured to be as fast";
    return nullptr;
  };
  const std::string key = key_of(request);
  if (const std::string known = request.tuner->find(key); !known.empty()) return take(known);
  const std::vector<ConvForm> all = all_forms(request);
  TrialMemory memory;
  std::vector<std::optional<KernelTrial>> trials(all.size());
  std::vector<TuningCandidate> candidates;
  for (size_t i = 0; i < all.size(); ++i) {
    candidates.push_back({all[i].name, [&, i] {
                            if (!trials[i]) {
                              trials[i].emplace(all[i].make(), request.input_is_fixed, request.threads, memory);
                            }
                            return trials[i]->seconds();
                          }});
  }
  return take(request.tuner->choose(key, candidates));
}

}  // namespace thalweg
