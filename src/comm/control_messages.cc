// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/control_messages.h"

#include <algorithm>
#include <iterator>

namespace thalweg::comm {
namespace {

using nlohmann::json;

/// Of reasons, of which one may quote another.
constexpr size_t kMostReasonBytes = 8192;

/// In the order of the enumerators.
constexpr const char* kMemberKinds[] = {"beat", "ready", "fail", "finish", "handed_over"};
constexpr const char* kRendezvousKinds[] = {"view",  "over",   "waiting",   "failed",   "taken", "finished",
                                            "alive", "seated", "hand_over", "accepted", "heard"};

/// Empty if it is not there.
std::string text_of(const json& message, const char* key, size_t most) {
  const auto found = message.find(key);
  if (found == message.end()) return "";
  TW_REQUIRE(found->is_string(), "the ", key, " of a message is no text");
  return found->get_ref<const std::string&>().substr(0, most);
}

uint64_t epoch_of(const json& message) {
  const auto found = message.find("epoch");
  TW_REQUIRE(found != message.end() && found->is_number_unsigned(), "a message has no epoch");
  return found->get<uint64_t>();
}

template <typename Kind, size_t n>
Kind kind_of(const json& message, const char* const (&names)[n]) {
  TW_REQUIRE(message.is_object(), "a message is no JSON object");
  const std::string type = text_of(message, "type", kMostStatusBytes);
  const auto* found = std::find(std::begin(names), std::end(names), type);
  TW_REQUIRE(found != std::end(names), "a message of the unknown type '", type, "'");
  return static_cast<Kind>(found - std::begin(names));
}

/// Not a copy, which would take a deep one more stack than there may be.
const json& member_of(const json& message, const char* key) {
  const auto found = message.find(key);
  TW_REQUIRE(found != message.end(), "a message has no ", key);
  return *found;
}

}  // namespace

Introduction Introduction::from_json(const json& message) {
  TW_REQUIRE(message.is_object(), "a message is no JSON object");
  Introduction introduction{MemberInfo::from_json(member_of(message, "member")), std::nullopt, false};
  if (message.contains("view")) introduction.known = View::from_json(message.at("view"));
  introduction.preparing = message.contains("preparing") && message.at("preparing") == true;
  return introduction;
}

MemberMessage MemberMessage::from_json(const json& message) {
  MemberMessage result;
  result.kind = kind_of<Kind>(message, kMemberKinds);
  switch (result.kind) {
    case Kind::kBeat: result.text = text_of(message, "status", kMostStatusBytes); break;
    case Kind::kReady:
      result.epoch = epoch_of(message);
      result.text = text_of(message, "failure", kMostReasonBytes);
      result.unreachable = text_of(message, "unreachable", kMostReasonBytes);
      break;
    case Kind::kFail: result.text = text_of(message, "why", kMostReasonBytes); break;
    case Kind::kFinish:
    case Kind::kHandedOver: break;
  }
  return result;
}

RendezvousMessage RendezvousMessage::from_json(const json& message) {
  RendezvousMessage result;
  result.kind = kind_of<Kind>(message, kRendezvousKinds);
  result.why = text_of(message, "why", kMostReasonBytes);
  if (result.kind == Kind::kView) result.view = View::from_json(member_of(message, "view"));
  if (result.kind == Kind::kOver) result.epoch = epoch_of(message);
  return result;
}

}  // namespace thalweg::comm
