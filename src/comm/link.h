// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <span>
#include <string>

namespace thalweg::comm {

/// What came of an attempt to read or write without waiting.
struct IoResult {
  /// 0 if it would have to wait, or if `error` is set.
  size_t bytes = 0;
  /// Why the link is of no more use; empty while it is.
  std::string error;
};

/// A stream of bytes to and from one peer. Nothing here waits.
class Link {
 public:
  virtual ~Link() = default;
  /// What was not taken must be at the front of the next attempt: part of it may be on its way.
  virtual IoResult write_some(std::span<const iovec> pieces) = 0;
  virtual IoResult read_some(void* data, size_t bytes) = 0;
  /// To poll for, after an attempt that took nothing; -1 if the peer rings this member's doorbell instead.
  virtual int descriptor() const = 0;
  /// Without a descriptor: false if nobody rings either, so that one has to look now and then.
  virtual bool rings() const { return true; }
};

}  // namespace thalweg::comm
