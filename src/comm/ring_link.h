// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "comm/link.h"
#include "comm/shared_area.h"

namespace thalweg::comm {

/// Two rings in memory that both ends share.
class RingLink : public Link {
 public:
  RingLink(std::shared_ptr<SharedArea> area, int self, int peer, int lane = 0)
      : area_(std::move(area)),
        out_(area_->ring(self, peer, lane)),
        in_(area_->ring(peer, self, lane)),
        bell_(area_->doorbell(peer, lane)) {}

  IoResult write_some(std::span<const iovec> pieces) override;
  IoResult read_some(void* data, size_t bytes) override;
  int descriptor() const override { return -1; }

 private:
  std::shared_ptr<SharedArea> area_;
  RingMemory& out_;
  RingMemory& in_;
  Signal& bell_;
};

}  // namespace thalweg::comm
