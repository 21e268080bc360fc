// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/flat_weights.h"

#include <algorithm>
#include <cstring>

#include "runtime/variables.h"

namespace thalweg::sync {

FlatWeights::FlatWeights(Trainee& trainee) : variables_(trainee.variables()) {
  for (const TrainedVariable& trained : trainee.trained()) {
    entries_.push_back({trained.variable, size_, trained.num_floats});
    size_ += trained.num_floats;
  }
}

void FlatWeights::read(std::vector<float>& values) const {
  values.resize(size_);
  for (const Entry& entry : entries_) {
    std::memcpy(values.data() + entry.begin, variables_.data(entry.variable), entry.floats * sizeof(float));
  }
}

void FlatWeights::write(std::span<const float> values) const {
  for (const Entry& entry : entries_) {
    std::memcpy(variables_.data(entry.variable), values.data() + entry.begin, entry.floats * sizeof(float));
  }
  variables_.touch();
}

std::vector<NamedTensor> FlatWeights::save(const std::string& prefix, std::span<const float> values) const {
  std::vector<NamedTensor> result;
  for (const Entry& entry : entries_) {
    Tensor plain(variables_.type(entry.variable));
    reorder(variables_.layout(entry.variable), values.data() + entry.begin, Layout(plain.type()), plain.raw());
    result.push_back({prefix + variables_.name(entry.variable), plain});
  }
  return result;
}

bool FlatWeights::load(const std::string& prefix, const std::vector<NamedTensor>& tensors,
                       std::vector<float>& values) const {
  std::vector<float> read(size_);
  for (const Entry& entry : entries_) {
    const std::string name = prefix + variables_.name(entry.variable);
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& tensor) { return tensor.name == name; });
    if (found == tensors.end()) return false;
    const TensorType& type = variables_.type(entry.variable);
    TW_REQUIRE(found->tensor.type() == type, "'", name, "' of a training scheme's state is ", found->tensor.type(),
               ", not ", type);
    reorder(Layout(type), found->tensor.raw(), variables_.layout(entry.variable), read.data() + entry.begin);
  }
  values = std::move(read);
  return true;
}

}  // namespace thalweg::sync
