// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/scheme_state.h"

#include <algorithm>
#include <cstring>

namespace thalweg::sync {
namespace {

constexpr const char* kWorkers = "workers";
constexpr const char* kCommon = "common/";
constexpr const char* kChoice = "choice";
/// More are not to be found in a checkpoint.
constexpr int64_t kMostWorkers = 1 << 16;

std::string prefix_of(size_t worker) { return "worker" + std::to_string(worker) + "/"; }

void append(std::vector<NamedTensor>& to, std::vector<NamedTensor> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<NamedTensor> with_prefix(const std::string& prefix, std::vector<NamedTensor> tensors) {
  for (NamedTensor& entry : tensors) entry.name.insert(0, prefix);
  return tensors;
}

std::vector<NamedTensor> under_prefix(const std::string& prefix, const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> result;
  for (const NamedTensor& entry : tensors) {
    if (entry.name.rfind(prefix, 0) == 0) result.push_back({entry.name.substr(prefix.size()), entry.tensor});
  }
  return result;
}

std::vector<NamedTensor> pack(const SchemeState& state) {
  std::vector<NamedTensor> result = with_prefix(kCommon, state.common);
  bool any = !result.empty();
  for (size_t i = 0; i < state.workers.size(); ++i) {
    any = any || !state.workers[i].empty();
    append(result, with_prefix(prefix_of(i), state.workers[i]));
  }
  if (!any) return {};
  result.push_back({kWorkers, Tensor::scalar<int64_t>(static_cast<int64_t>(state.workers.size()))});
  return result;
}

SchemeState unpack(const std::vector<NamedTensor>& tensors) {
  SchemeState state;
  const auto is_choice = [](const NamedTensor& entry) { return entry.name == kChoice; };
  if (std::all_of(tensors.begin(), tensors.end(), is_choice)) return state;
  int64_t workers = -1;
  for (const NamedTensor& entry : tensors) {
    if (entry.name != kWorkers || entry.tensor.type() != (TensorType{DType::kI64, {}})) continue;
    workers = *entry.tensor.data<int64_t>();
  }
  TW_REQUIRE(workers >= 0 && workers <= kMostWorkers,
             "the state of a training scheme does not say of how many workers");
  state.common = under_prefix(kCommon, tensors);
  for (size_t i = 0; i < static_cast<size_t>(workers); ++i) {
    state.workers.push_back(under_prefix(prefix_of(i), tensors));
  }
  return state;
}

void add_choice(std::vector<NamedTensor>& tensors, const std::string& choice) {
  Tensor text(DType::kU8, {static_cast<int64_t>(choice.size())});
  std::memcpy(text.raw(), choice.data(), choice.size());
  tensors.push_back({kChoice, text});
}

std::string choice_in(const std::vector<NamedTensor>& tensors) {
  for (const NamedTensor& entry : tensors) {
    if (entry.name != kChoice || entry.tensor.dtype() != DType::kU8) continue;
    return {static_cast<const char*>(entry.tensor.raw()), static_cast<size_t>(entry.tensor.num_elements())};
  }
  return "";
}

}  // namespace thalweg::sync
