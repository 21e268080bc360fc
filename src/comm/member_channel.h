// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/lane_transport.h"

namespace thalweg::comm {

/// A channel of one communicator: makes deliveries of what goes through it, and hands them to the messenger.
class MemberChannel : public Channel {
 public:
  MemberChannel(Lane lane, uint32_t id, const ChannelOptions& options, std::shared_ptr<TrafficCounter> counter,
                std::chrono::duration<double> timeout);

  Pending send(int peer, std::vector<std::byte> bytes, uint32_t tag) override;
  Pending send(int peer, std::span<const std::byte> bytes, uint32_t tag) override;
  Pending receive(int peer, uint32_t tag) override;
  Traffic traffic() const override { return counter_->total(); }

 private:
  std::shared_ptr<Delivery> make(Delivery::Kind kind, int peer, uint32_t tag) const;

  Lane lane_;
  uint32_t id_;
  ChannelOptions options_;
  std::shared_ptr<TrafficCounter> counter_;
  std::chrono::duration<double> timeout_;
};

}  // namespace thalweg::comm
