// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/compress/feedback.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/variables.h"

namespace thalweg::sync {
namespace {

TensorType plain_type(const GradientShape& shape) {
  if (shape.layout) return shape.layout->type();
  return {DType::kF32, {static_cast<int64_t>(shape.floats)}};
}

}  // namespace

void Feedback::use(const std::vector<GradientShape>& gradients) {
  std::vector<Entry> entries(gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    const auto same = [&](const Entry& entry) {
      return entry.shape.name == gradients[i].name && entry.shape.floats == gradients[i].floats;
    };
    const auto old = std::find_if(entries_.begin(), entries_.end(), same);
    if (old != entries_.end()) entries[i] = std::move(*old);
    entries[i].shape = gradients[i];
    entries[i].kept.resize(gradients[i].floats);
    entries[i].next.resize(gradients[i].floats);
    entries[i].changed = false;
  }
  entries_ = std::move(entries);
}

std::span<float> Feedback::next(size_t gradient) {
  entries_[gradient].changed = true;
  return entries_[gradient].next;
}

void Feedback::commit() {
  for (Entry& entry : entries_) {
    if (entry.changed) entry.kept.swap(entry.next);
    entry.changed = false;
  }
}

void Feedback::roll_back() {
  for (Entry& entry : entries_) entry.changed = false;
}

void Feedback::clear() {
  for (Entry& entry : entries_) {
    std::fill(entry.kept.begin(), entry.kept.end(), 0.0F);
    entry.changed = false;
  }
}

void Feedback::save(std::vector<NamedTensor>& state) const {
  for (const Entry& entry : entries_) {
    Tensor plain(plain_type(entry.shape));
    const Layout layout = entry.shape.layout ? *entry.shape.layout : Layout(plain.type());
    reorder(layout, entry.kept.data(), Layout(plain.type()), plain.raw());
    state.push_back({name_ + "/" + entry.shape.name, plain});
  }
}

void Feedback::add(const std::vector<NamedTensor>& state) {
  std::vector<float> given;
  for (Entry& entry : entries_) {
    const std::string name = name_ + "/" + entry.shape.name;
    for (const NamedTensor& saved : state) {
      if (saved.name != name) continue;
      TW_REQUIRE(saved.tensor.type() == plain_type(entry.shape), "what was kept of gradients, '", name, "', is ",
                 saved.tensor.type(), ", not ", plain_type(entry.shape));
      given.assign(entry.shape.floats, 0.0F);
      const Layout layout = entry.shape.layout ? *entry.shape.layout : Layout(saved.tensor.type());
      reorder(Layout(saved.tensor.type()), saved.tensor.raw(), layout, given.data());
      add_kept(given, entry.kept, entry.kept);
    }
  }
}

void add_kept(std::span<const float> fresh, std::span<const float> kept, std::span<float> sum) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = fresh[i] + kept[i];
}

void drop_non_finite(std::span<float> values) {
#pragma omp simd
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::abs(values[i]) <= std::numeric_limits<float>::max() ? values[i] : 0.0F;
  }
}

}  // namespace thalweg::sync
