// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/file_descriptor.h"
#include "comm/link.h"

namespace thalweg::comm {

/// A connected stream socket, made nonblocking.
class SocketLink : public Link {
 public:
  explicit SocketLink(FileDescriptor socket);

  IoResult write_some(std::span<const iovec> pieces) override;
  IoResult read_some(void* data, size_t bytes) override;
  int descriptor() const override { return socket_.get(); }

 private:
  FileDescriptor socket_;
};

}  // namespace thalweg::comm
