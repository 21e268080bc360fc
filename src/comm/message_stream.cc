// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/message_stream.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace thalweg::comm {

void MessageStream::send(Tag tag, const std::byte* data, size_t bytes) {
  outgoing_.push_back({{tag.bits(), bytes}, data, 0});
}

void MessageStream::receive(Tag tag, std::byte* data, size_t bytes) {
  const Awaited awaited{tag.bits(), data, bytes};
  const auto early = std::find_if(unexpected_.begin(), unexpected_.end(),
                                  [&](const Unexpected& message) { return message.tag == awaited.tag; });
  if (early == unexpected_.end()) {
    awaited_.push_back(awaited);
    return;
  }
  if (!fits(awaited, {early->tag, early->data.size()})) return;
  if (early->complete) {
    std::copy(early->data.begin(), early->data.end(), data);
  } else {
    // The rest goes straight to its place.
    const size_t got = early->data.size() - missing_;
    std::copy_n(early->data.begin(), got, data);
    target_ = data + got;
    into_awaited_ = awaited_.insert(awaited_.end(), awaited);
  }
  unexpected_bytes_ -= early->data.size() + kKeepingBytes;
  unexpected_.erase(early);
}

bool MessageStream::progress() {
  const bool wrote = error_.empty() && sending() && write();
  const bool got = error_.empty() && receiving() && read();
  return wrote || got;
}

bool MessageStream::write() {
  bool moved = false;
  while (!outgoing_.empty()) {
    Outgoing& message = outgoing_.front();
    const size_t header_left = sizeof(Header) - std::min(message.sent, sizeof(Header));
    const size_t data_sent = message.sent - (sizeof(Header) - header_left);
    const iovec pieces[] = {
        {reinterpret_cast<std::byte*>(&message.header) + (sizeof(Header) - header_left), header_left},
        {const_cast<std::byte*>(message.data) + data_sent, message.header.bytes - data_sent}};
    const IoResult result = link_->write_some(header_left > 0 ? std::span(pieces) : std::span(pieces).subspan(1));
    if (!result.error.empty()) fail(result.error);
    if (result.bytes == 0 && message.sent < sizeof(Header) + message.header.bytes) return moved;
    moved = true;
    message.sent += result.bytes;
    if (message.sent == sizeof(Header) + message.header.bytes) outgoing_.pop_front();
  }
  return moved;
}

bool MessageStream::read() {
  bool moved = false;
  while (error_.empty() && receiving()) {
    const bool in_header = header_got_ < sizeof(Header);
    const IoResult result =
        in_header ? link_->read_some(reinterpret_cast<std::byte*>(&header_) + header_got_, sizeof(Header) - header_got_)
                  : link_->read_some(target_, missing_);
    if (!result.error.empty()) fail(result.error);
    if (result.bytes == 0) return moved;
    moved = true;
    if (in_header) {
      header_got_ += result.bytes;
      if (header_got_ == sizeof(Header)) begin_message();
    } else {
      target_ += result.bytes;
      missing_ -= result.bytes;
      if (missing_ == 0) end_message();
    }
  }
  return moved;
}

void MessageStream::begin_message() {
  missing_ = header_.bytes;
  into_awaited_ = std::find_if(awaited_.begin(), awaited_.end(),
                               [&](const Awaited& awaited) { return awaited.tag == header_.tag; });
  if (into_awaited_ != awaited_.end()) {
    if (!fits(*into_awaited_, header_)) return;
    target_ = into_awaited_->data;
  } else {
    // Also what it takes to keep one: empty ones would be without limit.
    const size_t room = kMostUnexpected - unexpected_bytes_;
    if (room < kKeepingBytes || header_.bytes > room - kKeepingBytes) {
      fail_protocol("a message of " + std::to_string(header_.bytes) + " bytes that nobody waits for, beyond " +
                    human_bytes(static_cast<double>(kMostUnexpected)) + " of such");
      return;
    }
    unexpected_.push_back({header_.tag, std::vector<std::byte>(header_.bytes), false});
    unexpected_bytes_ += header_.bytes + kKeepingBytes;
    target_ = unexpected_.back().data.data();
  }
  if (missing_ == 0) end_message();
}

void MessageStream::end_message() {
  if (into_awaited_ != awaited_.end()) {
    awaited_.erase(into_awaited_);
    into_awaited_ = awaited_.end();
  } else {
    unexpected_.back().complete = true;
  }
  header_got_ = 0;
}

bool MessageStream::fits(const Awaited& awaited, const Header& header) {
  if (awaited.bytes == header.bytes) return true;
  fail_protocol("a message of " + std::to_string(header.bytes) + " bytes where " + std::to_string(awaited.bytes) +
                " are expected");
  return false;
}

void MessageStream::fail(const std::string& why) { error_ = activity() + ": " + why; }

void MessageStream::fail_protocol(const std::string& why) {
  error_ = "it sent " + why;
  protocol_error_ = true;
}

std::string MessageStream::activity() const {
  if (receiving()) return "receiving " + human_bytes(static_cast<double>(awaited_.front().bytes));
  if (sending()) return "sending " + human_bytes(static_cast<double>(outgoing_.front().header.bytes));
  return "idle";
}

}  // namespace thalweg::comm
