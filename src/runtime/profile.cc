// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/profile.h"

#include <cstdio>

#include "base/text.h"
#include "runtime/program.h"

namespace thalweg {
namespace {

std::vector<StepProfile> profiles(const std::vector<Step>& steps, std::span<const double> milliseconds) {
  std::vector<StepProfile> result;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    StepProfile profile;
    profile.op = step.node != nullptr ? step.node->op_name() : "-";
    profile.name = step.label;
    profile.kernel = step.kernel->name;
    for (const Layout& layout : step.kernel->outputs) {
      profile.outputs.push_back(layout.to_string() + " " + layout.shape().to_string());
      profile.output_bytes += layout.bytes();
    }
    profile.is_view = step.kernel->alias_of_input >= 0;
    profile.threads = step.threads;
    profile.declined = step.declined;
    if (i < milliseconds.size()) profile.milliseconds = milliseconds[i];
    result.push_back(std::move(profile));
  }
  return result;
}

void write_steps(std::ostream& out, const std::vector<StepProfile>& steps, int threads) {
  for (const StepProfile& step : steps) {
    out << "  " << step.op << ' ' << step.name << ": " << step.kernel;
    for (const std::string& output : step.outputs) out << " -> " << output;
    if (step.is_view) out << " (view)";
    if (step.threads < threads && !step.is_view)
      out << " (" << step.threads << (step.threads > 1 ? " threads)" : " thread)");
    if (step.milliseconds >= 0) {
      char text[32];
      std::snprintf(text, sizeof text, "  %.3f ms", step.milliseconds);
      out << text;
    }
    out << '\n';
    for (const std::string& reason : step.declined) out << "      declined " << reason << '\n';
  }
}

}  // namespace

ProgramProfile Program::profile(std::span<const double> milliseconds) const {
  return {graph_->name(),    options_.threads,        arena_bytes_,
          persistent_bytes_, profiles(prologue_, {}), profiles(steps_, milliseconds)};
}

std::string Program::explain(std::span<const double> milliseconds) const { return to_string(profile(milliseconds)); }

std::string to_string(const ProgramProfile& profile) {
  std::ostringstream out;
  out << "program of " << profile.name << ": " << profile.steps.size() << " steps, " << profile.once.size()
      << " run once, threads " << profile.threads << ", arena " << human_bytes(static_cast<double>(profile.arena_bytes))
      << ", derived weights " << human_bytes(static_cast<double>(profile.derived_bytes)) << '\n';
  if (!profile.once.empty()) out << "once:\n";
  write_steps(out, profile.once, profile.threads);
  out << "each run:\n";
  write_steps(out, profile.steps, profile.threads);
  return out.str();
}

}  // namespace thalweg
