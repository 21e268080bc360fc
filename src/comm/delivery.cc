// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/delivery.h"

#include <algorithm>

#include "base/text.h"

namespace thalweg::comm {

bool Delivery::may_come_from(int rank) const {
  if (peer != kAnybody) return peer == rank;
  return members == nullptr || std::find(members->begin(), members->end(), rank) != members->end();
}

void Delivery::finish(Status outcome) {
  if (done.load(std::memory_order_relaxed)) return;
  status = std::move(outcome);
  if (status.ok() && counter != nullptr) {
    if (kind == Kind::kSend) {
      counter->sent(size);
    } else {
      counter->received(size);
    }
  }
  if (news != nullptr) *news = true;
  done.store(true, std::memory_order_release);
}

std::string Delivery::activity() const {
  std::string text = kind == Kind::kSend ? "sending " + human_bytes(static_cast<double>(size)) : "receiving";
  if (kind == Kind::kReceive && peer == kAnybody) text += " from anybody";
  if (route.use == Route::Use::kChannel) text += " on channel " + std::to_string(route.channel);
  return text + ", tag " + std::to_string(tag);
}

}  // namespace thalweg::comm
