// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/conv_forms.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/threads.h"
#include "runtime/kernels/onednn/conv_desc.h"
#include "runtime/kernels/simd/dispatch.h"
#include "runtime/tuner.h"

namespace thalweg {
namespace {

/// oneDNN's kernel for the node.
std::unique_ptr<Kernel> make_direct(const KernelRequest& request) {
  for (const KernelCandidate& candidate : kernel_candidates(request.node.op_name())) {
    if (candidate.name != "onednn") continue;
    std::string ignored;
    return candidate.factory(request, ignored);
  }
  return nullptr;
}

}  // namespace

std::vector<ConvForm> all_conv_forms(const KernelRequest& request) {
  std::vector<ConvForm> forms{{"direct", [&request] { return make_direct(request); }}};
  for (auto* make : {winograd_forms, conv_product_forms, conv_rows_forms, conv_lines_forms}) {
    for (ConvForm& form : make(request)) forms.push_back(std::move(form));
  }
  return forms;
}

bool direct_is_slow(const KernelRequest& request) {
  constexpr std::string_view kOneDnn = "onednn ";
  const std::unique_ptr<Kernel> direct = make_direct(request);
  return direct == nullptr || !is_fast_implementation(direct->name.c_str() + kOneDnn.size());
}

std::string conv_by_rule(const std::vector<ConvForm>& forms) {
  const auto ruled = std::find_if(forms.begin(), forms.end(), [](const ConvForm& form) { return form.by_rule; });
  return ruled != forms.end() ? ruled->name : forms.front().name;
}

std::string conv_key(const KernelRequest& request) {
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

std::vector<TuningCandidate> conv_candidates(const KernelRequest& request, const std::vector<ConvForm>& forms,
                                             TrialMemory& memory) {
  std::vector<TuningCandidate> candidates;
  for (const ConvForm& form : forms) {
    const auto trial = std::make_shared<std::optional<KernelTrial>>();
    const auto run = [trial, make = form.make, &request, &memory] {
      // oneDNN's choice of kernel, and what it plans, depends on the number of threads at the time it is asked.
      const FewerThreads fewer(request.threads);
      if (!*trial) trial->emplace(make(), request.input_is_fixed, request.threads, memory);
      return (*trial)->seconds();
    };
    candidates.push_back({form.name, run, [trial] { trial->reset(); }, form.variant_of});
  }
  return candidates;
}

std::unique_ptr<Kernel> fastest_conv(const KernelRequest& request, const std::vector<ConvForm>& offered,
                                     std::string& declined) {
  const std::string key = conv_key(request);
  std::string fastest = request.tuner->find(key);
  if (fastest.empty() && request.unmeasured != nullptr) {
    *request.unmeasured = true;
    // Methods that the rule prefers were asked before, and declined.
    const auto ruled = std::find_if(offered.begin(), offered.end(), [](const ConvForm& form) { return form.by_rule; });
    if (ruled != offered.end()) return ruled->make();
    declined = "the direct method is likely to be as fast";
    return nullptr;
  }
  if (fastest.empty()) {
    TrialMemory memory;
    const std::vector<ConvForm> all = all_conv_forms(request);
    fastest = request.tuner->choose(key, conv_candidates(request, all, memory));
  }
  const auto chosen =
      std::find_if(offered.begin(), offered.end(), [&](const ConvForm& form) { return form.name == fastest; });
  if (chosen != offered.end()) return chosen->make();
  declined = "'" + fastest + "' was measured to be as fast";
  return nullptr;
}

}  // namespace thalweg
