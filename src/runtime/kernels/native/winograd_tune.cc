// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/winograd_tune.h"

#include <optional>
#include <sstream>

#include "runtime/kernel_trial.h"
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

std::string name_of(const WinogradChoice& choice) {
  return std::to_string(choice.m) + "x" + std::to_string(choice.m) + (choice.blocking.shared ? " shared " : " own ") +
         std::to_string(choice.blocking.tiles);
}

/// For each tile size the blocks that the rule makes, half and twice as large ones, and the other way to share them.
std::vector<WinogradChoice> choices(const KernelRequest& request, WinogradPass pass) {
  std::vector<WinogradChoice> result;
  for (const int m : {4, 2}) {
    const WinogradShape shape = winograd_shape(conv_geometry(request.node), pass, m);
    const WinogradBlocking rule = winograd_blocking(shape, pass, request.threads);
    result.push_back({m, rule});
    for (const double factor : {0.5, 2.0}) {
      WinogradBlocking other = rule;
      other.tiles = winograd_even_blocks(shape, rule, request.threads, static_cast<double>(rule.tiles) * factor);
      if (m == 4 && other.tiles != rule.tiles) result.push_back({m, other});
    }
  }
  return result;
}

/// What computes the node if Winograd's method does not; null if nothing fast does.
std::unique_ptr<Kernel> make_direct(const KernelRequest& request) {
  for (const KernelCandidate& candidate : kernel_candidates(request.node.op_name())) {
    if (candidate.name != "onednn") continue;
    std::string ignored;
    return candidate.factory(request, ignored);
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Kernel> tune_winograd(const KernelRequest& request, WinogradPass pass, const MakeWinograd& make,
                                      std::string& declined) {
  const std::vector<WinogradChoice> all = choices(request, pass);
  std::vector<std::optional<KernelTrial>> trials(all.size() + 1);
  const auto run = [&](size_t index) {
    std::optional<KernelTrial>& trial = trials[index];
    if (!trial.has_value()) {
      trial.emplace(index == 0 ? make_direct(request) : make(all[index - 1]), request.input_is_fixed, request.threads);
    }
    return trial->seconds();
  };
  std::vector<TuningCandidate> candidates{{"direct", [&] { return run(0); }}};
  for (size_t i = 0; i < all.size(); ++i) candidates.push_back({name_of(all[i]), [&run, i] { return run(i + 1); }});
  const std::string chosen = request.tuner->choose(key_of(request), candidates);
  for (const WinogradChoice& choice : all) {
    if (name_of(choice) == chosen) return make(choice);
  }
  declined = "the direct method was measured to be as fast";
  return nullptr;
}

}  // namespace thalweg
