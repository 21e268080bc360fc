// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>

#include "comm/link.h"
#include "comm/mailbox.h"

namespace thalweg::comm {

/// Messages of channels over a link to one peer: each is a frame, a header of 32 bytes and its bytes. What comes goes
/// to the mailbox. A channel's messages go on only as long as the receiver has room for them, which it says in frames
/// of their own; those of other channels pass them. Nothing here waits, and one thread at a time uses it.
class FrameStream {
 public:
  /// So much of one channel may be on its way, or kept by the receiver, before the sender waits; and a message beyond.
  static constexpr uint64_t kWindow = uint64_t{16} << 20U;
  /// If so much is kept of a peer in all channels together, nothing more is read from it.
  static constexpr uint64_t kMostKept = uint64_t{1} << 30U;
  /// Of a peer's, in communicators that exist.
  static constexpr size_t kMostChannels = 65536;

  FrameStream(std::unique_ptr<Link> link, int peer, Mailbox& mailbox)
      : link_(std::move(link)), peer_(peer), mailbox_(mailbox) {}

  void send(const std::shared_ptr<Delivery>& message);
  /// Lets the peer send so much more on the channel.
  void grant(const Route& route, uint64_t cost);
  /// Takes back a message of which nothing is on its way; false if it is too late.
  bool withdraw(const Delivery& message);
  /// The message's memory is the caller's and will be gone: what is not sent of it yet is copied.
  void let_go(Delivery& message);
  /// Ends what was to be sent, and what is coming in, for whom `concerns` is true.
  template <typename Predicate>
  void fail_sends(const Failure& failure, const Predicate& concerns) {
    for (auto& [route, outbox] : outboxes_) {
      std::erase_if(outbox.queue, [&](const std::shared_ptr<Delivery>& message) {
        if (!concerns(*message)) return false;
        message->finish(failure);
        return true;
      });
    }
    if (current_ != nullptr && concerns(*current_)) {
      let_go(*current_);
      current_->finish(failure);
    }
  }
  /// A communicator whose messages have been failed is gone.
  void forget(uint64_t context);
  /// The link is of no more use.
  void close();

  /// Moves what can be moved without waiting, in each direction no more than a few megabytes; true if that was
  /// anything.
  bool write();
  bool read();
  /// Has something to send that the link did not take.
  bool blocked() const { return link_ != nullptr && error_.empty() && has_frame(); }
  bool reads() const;
  /// It has not read because too much of the peer's is kept.
  bool paused() const { return paused_; }
  const Link* link() const { return link_.get(); }
  /// Why it is of no more use; empty while it is.
  const std::string& error() const { return error_; }
  bool protocol_error() const { return protocol_error_; }

 private:
  enum class Kind : uint32_t { kMessage = 0, kGrant = 1 };
  struct Header {
    uint64_t context = 0;
    uint32_t use = 0;
    uint32_t channel = 0;
    uint32_t tag = 0;
    uint32_t kind = 0;
    /// Of the message, or that are granted.
    uint64_t bytes = 0;
  };
  static_assert(sizeof(Header) == 32);
  struct Outbox {
    std::deque<std::shared_ptr<Delivery>> queue;
    /// What the receiver still has room for; a message may overdraw it.
    int64_t credit = static_cast<int64_t>(kWindow);
    /// When it last sent something: channels of equal priority take turns.
    uint64_t served = 0;
  };
  struct Inbox {
    /// What the peer has sent and was not granted again.
    uint64_t outstanding = 0;
    /// Of that, what is claimed: granted once it is worth a frame.
    uint64_t claimed = 0;
  };

  bool has_frame() const;
  /// Makes the next frame the current one; false if there is none.
  bool next_frame();
  Outbox* next_outbox();
  void end_frame();
  void take_header();
  void begin_message(const Route& route);
  void take_grant(const Route& route);
  void end_message();
  void fail(const std::string& why) { error_ = why; }
  void fail_protocol(const std::string& why);

  std::unique_ptr<Link> link_;
  int peer_;
  Mailbox& mailbox_;
  std::map<Route, Outbox> outboxes_;
  std::map<Route, Inbox> inboxes_;
  std::deque<Header> grants_;
  uint64_t served_ = 0;

  // The frame that is going out. Once it was offered to the link it stays: part of it may be on its way.
  bool sending_ = false;
  Header out_header_;
  size_t sent_ = 0;  ///< header included
  std::shared_ptr<Delivery> current_;

  // The frame that is coming in.
  Header in_header_;
  size_t header_got_ = 0;
  std::shared_ptr<Arrival> arrival_;
  bool paused_ = false;

  std::string error_;
  bool protocol_error_ = false;
};

}  // namespace thalweg::comm
