// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/environment.h"

#include <sched.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "base/cgroup.h"
#include "base/threads.h"

namespace thalweg::cli {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// A variable that is worth a word when its value, in lower case, is one that matters.
struct Variable {
  const char* name;
  std::function<bool(const std::string&)> matters;
  const char* text;
};

bool any_value(const std::string& /*value*/) { return true; }
bool is_on(const std::string& value) { return value != "false" && value != "0" && value != "none"; }

const std::vector<Variable>& variables() {
  static const std::vector<Variable> all = {
      {"OMP_NUM_THREADS", any_value,
       "is not heeded: the number of threads comes from the machine and its control group, or from --threads"},
      {"THALWEG_ISA", any_value, "our own kernels use no wider instructions than that"},
      {"ONEDNN_MAX_CPU_ISA", any_value, "oneDNN uses no wider instructions than that"},
      {"DNNL_MAX_CPU_ISA", any_value, "oneDNN uses no wider instructions than that"},
      {"ONEDNN_VERBOSE", is_on, "oneDNN writes a line for each primitive, which costs time"},
      {"DNNL_VERBOSE", is_on, "oneDNN writes a line for each primitive, which costs time"},
      {"THALWEG_BF16", [](const std::string& value) { return value == "emulate"; },
       "bf16 is computed even where the CPU has no instructions for it, several times slower than f32"},
  };
  return all;
}

}  // namespace

std::string huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  for (std::string word; file >> word;) {
    if (word.size() > 2 && word.front() == '[') return word.substr(1, word.size() - 2);
  }
  return "";
}

std::vector<Advice> advise() {
  std::vector<Advice> all;
  for (const Variable& variable : variables()) {
    const char* value = std::getenv(variable.name);
    if (value == nullptr || !variable.matters(lower(value))) continue;
    all.push_back({std::string(variable.name) + "=" + value, variable.text});
  }
  const double quota = cgroup_limits().processors;
  if (quota > 0 && quota < 1) {
    all.push_back({"control group", "allows less than one processor: work stops for a part of every period"});
  }
  if (huge_pages() == "never") {
    all.push_back({"transparent huge pages", "are off; with 'madvise' large weights cost fewer page faults"});
  }
  return all;
}

}  // namespace thalweg::cli
