// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "comm/link.h"
#include "comm/transport.h"

namespace thalweg::comm {

/// Messages over a link: each is a header of 16 bytes (tag, length) and its bytes. A message that nobody waits for yet
/// is kept, up to a limit. Nothing here waits.
class MessageStream {
 public:
  /// Messages that came before somebody asked for them may take so much memory.
  static constexpr size_t kMostUnexpected = size_t{64} << 20U;

  explicit MessageStream(std::unique_ptr<Link> link) : link_(std::move(link)) {}

  /// The memory must stay until the message is through.
  void send(Tag tag, const std::byte* data, size_t bytes);
  void receive(Tag tag, std::byte* data, size_t bytes);

  /// Moves what can be moved; true if that was anything.
  bool progress();
  bool sending() const { return !outgoing_.empty(); }
  bool receiving() const { return !awaited_.empty(); }
  bool idle() const { return !sending() && !receiving(); }
  /// Why the stream is of no more use, and what it was doing; empty while it is.
  const std::string& error() const { return error_; }
  bool protocol_error() const { return protocol_error_; }
  const Link& link() const { return *link_; }
  /// "receiving 4.0 MiB": what it still waits for.
  std::string activity() const;

 private:
  struct Header {
    uint64_t tag = 0;
    uint64_t bytes = 0;
  };
  struct Outgoing {
    Header header;
    const std::byte* data = nullptr;
    size_t sent = 0;  ///< header included
  };
  struct Awaited {
    uint64_t tag = 0;
    std::byte* data = nullptr;
    size_t bytes = 0;
  };
  struct Unexpected {
    uint64_t tag = 0;
    std::vector<std::byte> data;
    bool complete = false;
  };
  /// Of memory for an unexpected message besides its bytes: the entry and its place in the list.
  static constexpr size_t kKeepingBytes = sizeof(Unexpected) + 2 * sizeof(void*);

  bool write();
  bool read();
  /// Decides where the message goes whose header has come.
  void begin_message();
  void end_message();
  bool fits(const Awaited& awaited, const Header& header);
  void fail(const std::string& why);
  void fail_protocol(const std::string& why);

  std::unique_ptr<Link> link_;
  std::deque<Outgoing> outgoing_;
  std::list<Awaited> awaited_;
  std::list<Unexpected> unexpected_;
  size_t unexpected_bytes_ = 0;

  // The message that is coming in.
  Header header_;
  size_t header_got_ = 0;
  std::byte* target_ = nullptr;
  size_t missing_ = 0;
  std::list<Awaited>::iterator into_awaited_ = awaited_.end();

  std::string error_;
  bool protocol_error_ = false;
};

}  // namespace thalweg::comm
