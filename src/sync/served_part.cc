// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/served_part.h"

namespace thalweg::sync {

ServedPart::ServedPart(Trainee& trainee, const GradientBuckets& map, int parts, int part)
    : trainee_(trainee), part_(part) {
  const std::vector<std::span<float>> row = map.all();
  range_ = comm::part_of(row.empty() ? 0 : row[0].size(), parts, part);
  weights_.reserve(range_.size());
  for (const Piece& piece : map.pieces(parts, part)) {
    Element element{piece, trainee.updater_index(piece.variable), {}};
    for (const optim::Slot& slot : trainee.updater().slots(element.updater_index)) {
      element.slots.push_back(slot.values.subspan(piece.begin, piece.gradient.size()));
    }
    elements_.push_back(std::move(element));
    const std::span<float> values = weights_of(trainee, piece);
    weights_.insert(weights_.end(), values.begin(), values.end());
  }
  for (const DenseParameter& parameter : dense_parameters(trainee)) indices_.push_back(parameter.updater_index);
}

int64_t ServedPart::updates() const { return indices_.empty() ? 0 : trainee_.updater().updates(indices_[0]); }

void ServedPart::update(std::span<const float> gradient, double rate, double scale) {
  optim::Optimizer& updater = trainee_.updater();
  for (const size_t index : indices_) updater.set_updates(index, updater.updates(index) + 1);
  apply(gradient, rate, scale);
}

void ServedPart::repeat(std::span<const float> gradient, double rate, double scale, int64_t count) {
  optim::Optimizer& updater = trainee_.updater();
  const int64_t own = updates();
  for (const size_t index : indices_) updater.set_updates(index, count);
  apply(gradient, rate, scale);
  for (const size_t index : indices_) updater.set_updates(index, own);
}

void ServedPart::apply(std::span<const float> gradient, double rate, double scale) {
  optim::Optimizer& updater = trainee_.updater();
  size_t at = 0;
  for (const Element& element : elements_) {
    const size_t count = element.piece.gradient.size();
    updater.update_part(element.updater_index, element.piece.begin, std::span(weights_).subspan(at, count),
                        gradient.subspan(at, count), {rate, scale});
    at += count;
  }
}

size_t ServedPart::num_slot_floats() const {
  size_t floats = 0;
  for (const Element& element : elements_) floats += element.slots.size() * element.piece.gradient.size();
  return floats;
}

std::vector<float> ServedPart::slots() const {
  std::vector<float> values;
  values.reserve(num_slot_floats());
  append_slots(values);
  return values;
}

void ServedPart::append_slots(std::vector<float>& values) const {
  for (const Element& element : elements_) {
    for (const std::span<float> slot : element.slots) values.insert(values.end(), slot.begin(), slot.end());
  }
}

void ServedPart::begin_step(int64_t step) {
  step_ = step;
  slots_before_.clear();
  append_slots(slots_before_);
}

ServedPart::History ServedPart::history() const { return {step_, slots_before_, slots()}; }

void ServedPart::set_slots(std::span<const float> values) {
  for (const Element& element : elements_) {
    for (const std::span<float> slot : element.slots) {
      std::copy_n(values.begin(), slot.size(), slot.begin());
      values = values.subspan(slot.size());
    }
  }
}

}  // namespace thalweg::sync
