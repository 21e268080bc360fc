// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "comm/link.h"
#include "comm/mpi_world.h"

namespace thalweg::comm {

/// A stream of bytes by MPI, in messages of limited size from buffers of its own. Nobody tells when it can go on.
class MpiLink : public Link {
 public:
  MpiLink(std::shared_ptr<const MpiWorld> world, int peer) : world_(std::move(world)), peer_(peer) {}
  /// Takes back what MPI still has, as far as it can within a moment; the rest stays with it until the process ends.
  ~MpiLink() override;
  MpiLink(const MpiLink&) = delete;
  MpiLink& operator=(const MpiLink&) = delete;

  IoResult write_some(std::span<const iovec> pieces) override;
  IoResult read_some(void* data, size_t bytes) override;
  int descriptor() const override { return -1; }
  bool rings() const override { return false; }

 private:
  /// Messages under way in each direction, so that one is filled or emptied while others travel.
  static constexpr size_t kBuffers = 4;
  static constexpr size_t kBufferBytes = size_t{128} << 10U;

  struct Buffer {
    /// With MPI.
    bool under_way = false;
    uint64_t request = 0;
    /// Of an incoming one: what has come, and how much of that was read.
    size_t bytes = 0;
    size_t taken = 0;
    std::vector<std::byte> data;
  };
  using Buffers = std::array<Buffer, kBuffers>;

  std::string begin(Buffer& buffer, bool sends, size_t bytes);
  /// Looks whether MPI is done with it.
  std::string look(Buffer& buffer);

  std::shared_ptr<const MpiWorld> world_;
  int peer_;
  /// Used in turns; the next one to fill, and the next one to read.
  std::shared_ptr<Buffers> out_ = std::make_shared<Buffers>();
  std::shared_ptr<Buffers> in_ = std::make_shared<Buffers>();
  size_t next_out_ = 0;
  size_t next_in_ = 0;
  bool receiving_ = false;
};

}  // namespace thalweg::comm
