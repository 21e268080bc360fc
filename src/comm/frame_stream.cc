// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/frame_stream.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace thalweg::comm {
namespace {

/// Others who want the messenger do not wait longer than this takes.
constexpr size_t kAtOnce = size_t{4} << 20U;

}  // namespace

void FrameStream::send(const std::shared_ptr<Delivery>& message) { outboxes_[message->route].queue.push_back(message); }

void FrameStream::grant(const Route& route, uint64_t cost) {
  const auto found = inboxes_.find(route);
  if (found == inboxes_.end()) return;
  Inbox& inbox = found->second;
  inbox.claimed += cost;
  // A sender waits only if a whole window is outstanding: of that, more than half is still to be claimed.
  if (inbox.claimed < kWindow / 2) return;
  grants_.push_back({route.context, static_cast<uint32_t>(route.use), route.channel, 0,
                     static_cast<uint32_t>(Kind::kGrant), inbox.claimed});
  inbox.outstanding -= std::min(inbox.outstanding, inbox.claimed);
  inbox.claimed = 0;
}

bool FrameStream::withdraw(const Delivery& message) {
  const auto outbox = outboxes_.find(message.route);
  if (outbox == outboxes_.end()) return false;
  return std::erase_if(outbox->second.queue, [&](const auto& other) { return other.get() == &message; }) > 0;
}

void FrameStream::let_go(Delivery& message) {
  if (current_.get() != &message || message.memory == nullptr) return;
  message.bytes.assign(message.memory, message.memory + message.size);
  message.memory = nullptr;
}

void FrameStream::forget(uint64_t context) {
  std::erase_if(outboxes_, [&](const auto& entry) { return entry.first.context == context; });
  std::erase_if(inboxes_, [&](const auto& entry) { return entry.first.context == context; });
}

void FrameStream::close() {
  link_ = nullptr;
  current_ = nullptr;
  outboxes_.clear();
  if (arrival_ != nullptr) mailbox_.drop(std::exchange(arrival_, nullptr));
}

FrameStream::Outbox* FrameStream::next_outbox() {
  Outbox* best = nullptr;
  for (auto& [route, outbox] : outboxes_) {
    if (outbox.queue.empty() || outbox.credit <= 0) continue;
    const int priority = outbox.queue.front()->priority;
    const int most = best != nullptr ? best->queue.front()->priority : priority;
    if (best == nullptr || priority > most || (priority == most && outbox.served < best->served)) best = &outbox;
  }
  return best;
}

bool FrameStream::has_frame() const {
  if (sending_ || !grants_.empty()) return true;
  return std::any_of(outboxes_.begin(), outboxes_.end(),
                     [](const auto& entry) { return !entry.second.queue.empty() && entry.second.credit > 0; });
}

bool FrameStream::next_frame() {
  if (sending_) return true;
  if (!grants_.empty()) {
    out_header_ = grants_.front();
    grants_.pop_front();
  } else {
    Outbox* outbox = next_outbox();
    if (outbox == nullptr) return false;
    current_ = outbox->queue.front();
    outbox->queue.pop_front();
    outbox->credit -= static_cast<int64_t>(Mailbox::cost_of(current_->size));
    outbox->served = ++served_;
    const Route& route = current_->route;
    out_header_ = {route.context, static_cast<uint32_t>(route.use),      route.channel,
                   current_->tag, static_cast<uint32_t>(Kind::kMessage), current_->size};
  }
  sent_ = 0;
  sending_ = true;
  return true;
}

void FrameStream::end_frame() {
  sending_ = false;
  if (current_ != nullptr) std::exchange(current_, nullptr)->finish({});
}

bool FrameStream::write() {
  size_t moved = 0;
  while (link_ != nullptr && error_.empty() && moved < kAtOnce && next_frame()) {
    const size_t payload = current_ != nullptr ? current_->size : 0;
    const size_t header_left = sizeof(Header) - std::min(sent_, sizeof(Header));
    const size_t data_sent = sent_ - (sizeof(Header) - header_left);
    const std::byte* data = current_ != nullptr ? current_->outgoing() : nullptr;
    const iovec pieces[] = {{reinterpret_cast<std::byte*>(&out_header_) + (sizeof(Header) - header_left), header_left},
                            {const_cast<std::byte*>(data) + data_sent, payload - data_sent}};
    // An empty piece at the end would be taken for one that could not be written.
    const std::span all(pieces);
    const std::span used = all.subspan(header_left > 0 ? 0 : 1, (header_left > 0 ? 1 : 0) + (payload > 0 ? 1 : 0));
    const IoResult result = link_->write_some(used);
    if (!result.error.empty()) fail("sending: " + result.error);
    if (result.bytes == 0) break;
    sent_ += result.bytes;
    moved += result.bytes;
    if (sent_ == sizeof(Header) + payload) end_frame();
  }
  return moved > 0;
}

bool FrameStream::reads() const {
  if (link_ == nullptr || !error_.empty()) return false;
  const bool wanted = arrival_ != nullptr && (arrival_->claimed != nullptr || arrival_->discarded);
  return wanted || mailbox_.kept_of(peer_) < kMostKept;
}

bool FrameStream::read() {
  size_t moved = 0;
  while (reads() && moved < kAtOnce) {
    const bool in_header = arrival_ == nullptr;
    const std::span<std::byte> room =
        in_header ? std::as_writable_bytes(std::span(&in_header_, 1)).subspan(header_got_) : arrival_->room();
    const IoResult result = link_->read_some(room.data(), room.size());
    if (!result.error.empty()) fail(result.error);
    if (result.bytes == 0) break;
    moved += result.bytes;
    if (in_header) {
      header_got_ += result.bytes;
      if (header_got_ == sizeof(Header)) take_header();
    } else {
      arrival_->got += result.bytes;
      if (arrival_->complete()) end_message();
    }
  }
  paused_ = link_ != nullptr && error_.empty() && !reads();
  return moved > 0;
}

void FrameStream::take_header() {
  header_got_ = 0;
  if (in_header_.use > static_cast<uint32_t>(Route::Use::kUser)) return fail_protocol("a frame of an unknown use");
  const Route route{in_header_.context, static_cast<Route::Use>(in_header_.use), in_header_.channel};
  switch (static_cast<Kind>(in_header_.kind)) {
    case Kind::kMessage: return begin_message(route);
    case Kind::kGrant: return take_grant(route);
  }
  fail_protocol("a frame of an unknown kind");
}

void FrameStream::begin_message(const Route& route) {
  if (in_header_.bytes > Channel::kMostBytes) {
    return fail_protocol("a message of " + std::to_string(in_header_.bytes) + " bytes, more than any may have");
  }
  if (inboxes_.size() >= kMostChannels && inboxes_.count(route) == 0) {
    return fail_protocol("messages of more than " + std::to_string(kMostChannels) + " channels");
  }
  Inbox& inbox = inboxes_[route];
  if (inbox.outstanding >= kWindow) {
    return fail_protocol("more than " + human_bytes(static_cast<double>(kWindow)) + " of a channel at once");
  }
  inbox.outstanding += Mailbox::cost_of(in_header_.bytes);
  std::string error;
  arrival_ = mailbox_.begin(peer_, route, in_header_.tag, in_header_.bytes, error);
  if (arrival_ == nullptr) return fail_protocol(error);
  if (arrival_->complete()) end_message();
}

void FrameStream::end_message() { mailbox_.end(std::exchange(arrival_, nullptr)); }

void FrameStream::take_grant(const Route& route) {
  const auto outbox = outboxes_.find(route);
  // Of a communicator that is gone here, but not yet there.
  if (outbox == outboxes_.end()) return;
  const int64_t owed = static_cast<int64_t>(kWindow) - outbox->second.credit;
  if (owed <= 0 || in_header_.bytes > static_cast<uint64_t>(owed)) return fail_protocol("a grant for more than it got");
  outbox->second.credit += static_cast<int64_t>(in_header_.bytes);
}

void FrameStream::fail_protocol(const std::string& why) {
  error_ = "it sent " + why;
  protocol_error_ = true;
}

}  // namespace thalweg::comm
