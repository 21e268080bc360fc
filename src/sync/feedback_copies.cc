// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/feedback_copies.h"

#include <algorithm>

namespace thalweg::sync {
namespace {

constexpr uint32_t kCopyTag = 6;

/// Calls `body` with the number of a gradient, a range of its elements, and where that begins among all that are
/// wanted.
template <typename Body>
void for_range(const Feedback& feedback, size_t begin, size_t count, const Body& body) {
  size_t at = 0, done = 0;
  for (size_t gradient = 0; gradient < feedback.size() && done < count; ++gradient) {
    const size_t floats = feedback.kept(gradient).size();
    const size_t from = std::max(begin, at), to = std::min(begin + count, at + floats);
    if (from < to) {
      body(gradient, comm::Part{from - at, to - at}, done);
      done += to - from;
    }
    at += floats;
  }
}

size_t total_of(const Feedback& feedback) {
  size_t total = 0;
  for (size_t gradient = 0; gradient < feedback.size(); ++gradient) total += feedback.kept(gradient).size();
  return total;
}

}  // namespace

void FeedbackCopies::take_over() {
  Feedback& mine = *exchange_.compressor()->kept();
  for (size_t gradient = 0; gradient < mine.size() && gradient < copy_.size(); ++gradient) {
    add_kept(copy_.kept(gradient), mine.kept(gradient), mine.values(gradient));
  }
}

void FeedbackCopies::watch(const comm::Group& group) {
  copy_.use(exchange_.shapes());
  copy_.clear();
  is_copied_ = false;
  next_ = 0;
  const int before = (group.rank() + group.size() - 1) % group.size();
  watched_ = group.names()[static_cast<size_t>(before)];
  if (group.size() < 2) return exchange_.watch(-1, {});
  exchange_.watch(before, [this](size_t gradient, std::span<const float> sent) { was_sent(gradient, sent); });
}

void FeedbackCopies::forget() {
  copy_.clear();
  is_copied_ = false;
}

comm::Status FeedbackCopies::copy(comm::Communicator& communicator) {
  Feedback& mine = *exchange_.compressor()->kept();
  const size_t total = total_of(mine);
  if (total == 0 || communicator.size() < 2) return {};
  const size_t slice = is_copied_ ? (total + static_cast<size_t>(every_) - 1) / static_cast<size_t>(every_) : total;
  const size_t count = std::min(slice, total - next_);
  outgoing_.resize(count);
  incoming_.resize(count);
  for_range(mine, next_, count, [&](size_t gradient, const comm::Part& part, size_t at) {
    std::copy_n(mine.kept(gradient).data() + part.begin, part.size(), outgoing_.data() + at);
  });
  const int size = communicator.size(), to = (communicator.rank() + 1) % size,
            from = (communicator.rank() + size - 1) % size;
  comm::Status status = communicator.exchange(to, outgoing_.data(), count * sizeof(float), from, incoming_.data(),
                                              count * sizeof(float), kCopyTag);
  if (!status) return status;
  for_range(copy_, next_, count, [&](size_t gradient, const comm::Part& part, size_t at) {
    std::copy_n(incoming_.data() + at, part.size(), copy_.values(gradient).data() + part.begin);
  });
  next_ = (next_ + count) % total;
  is_copied_ = true;
  return {};
}

void FeedbackCopies::was_sent(size_t gradient, std::span<const float> values) {
  const std::span<const float> before = copy_.kept(gradient);
  const std::span<float> after = copy_.next(gradient);
  for (size_t i = 0; i < after.size(); ++i) after[i] = before[i] - values[i];
  drop_non_finite(after);
}

}  // namespace thalweg::sync
