// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/lane_transport.h"

#include <algorithm>

#include "thalweg/error.h"

namespace thalweg::comm {
namespace {

/// The finaliser of SplitMix64: spreads every bit of what goes in over all that come out.
uint64_t mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

}  // namespace

int Lane::rank_of(int whole_rank) const {
  const auto found = std::find(ranks->begin(), ranks->end(), whole_rank);
  return found != ranks->end() ? static_cast<int>(found - ranks->begin()) : -1;
}

Lane Lane::part(const std::vector<int>& members, uint64_t count) const {
  auto whole_ranks = std::make_shared<std::vector<int>>();
  uint64_t mixed = mix(context ^ mix(count));
  for (const int member : members) {
    whole_ranks->push_back((*ranks)[static_cast<size_t>(member)]);
    mixed = mix(mixed ^ static_cast<uint64_t>(whole_ranks->back()));
  }
  const auto place = std::find(members.begin(), members.end(), self);
  // 0 is the whole group's.
  return {messenger, std::max<uint64_t>(mixed, 1), whole_ranks, static_cast<int>(place - members.begin()),
          std::make_shared<TrafficCounter>(counter)};
}

std::shared_ptr<Delivery> LaneTransport::begin(const Transfer& transfer) {
  auto delivery = std::make_shared<Delivery>();
  const bool sends = transfer.kind == Transfer::Kind::kSend;
  delivery->kind = sends ? Delivery::Kind::kSend : Delivery::Kind::kReceive;
  const bool collective = transfer.tag.space == TagSpace::kCollective;
  delivery->route = {lane_.context, collective ? Route::Use::kCollective : Route::Use::kUser, 0};
  delivery->tag = transfer.tag.number;
  delivery->peer = (*lane_.ranks)[static_cast<size_t>(transfer.peer)];
  delivery->memory = transfer.data;
  delivery->size = transfer.bytes;
  delivery->counter = lane_.counter;
  if (sends) {
    lane_.messenger->send(delivery);
  } else {
    lane_.messenger->receive(delivery);
  }
  return delivery;
}

Status LaneTransport::own(const Failure& failure, const Deadline& deadline) const {
  Failure result = failure;
  if (result.peer >= 0) result.peer = lane_.rank_of(failure.peer);
  result.seconds = deadline.elapsed();
  return result;
}

Status LaneTransport::run(std::span<const Transfer> transfers, const Deadline& deadline) {
  if (!failed_.ok()) return failed_;
  // Before anything is begun: the caller's memory must not be left with the messenger.
  for (const Transfer& transfer : transfers) {
    TW_REQUIRE(transfer.peer >= 0 && transfer.peer < size() && transfer.peer != rank(), "rank ", rank(), " of ", size(),
               " in a subgroup cannot exchange messages with rank ", transfer.peer);
    TW_REQUIRE(transfer.bytes <= Channel::kMostBytes, "a subgroup's message of ", transfer.bytes,
               " bytes is longer than the ", Channel::kMostBytes, " that one may have");
  }
  std::vector<std::shared_ptr<Delivery>> deliveries;
  // Receives first: what arrives then goes straight to its place.
  for (const Transfer::Kind kind : {Transfer::Kind::kReceive, Transfer::Kind::kSend}) {
    for (const Transfer& transfer : transfers) {
      if (transfer.kind == kind) deliveries.push_back(begin(transfer));
    }
  }
  Status status;
  for (const std::shared_ptr<Delivery>& delivery : deliveries) {
    if (!lane_.messenger->wait(delivery, deadline)) {
      status = own({FailureKind::kTimeout, delivery->peer, delivery->activity() + ": no progress", 0}, deadline);
    } else if (!delivery->status.ok()) {
      status = own(delivery->status.failure(), deadline);
    }
    if (!status) break;
  }
  if (status.ok()) return status;
  lane_.messenger->let_go(deliveries);
  return failed_ = status;
}

}  // namespace thalweg::comm
