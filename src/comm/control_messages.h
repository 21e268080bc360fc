// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "comm/membership.h"

namespace thalweg::comm {

// What members and the rendezvous say to each other, read from the JSON objects that a Connection receives. Whoever
// sends knows the secret but may have gone mad: reading throws Error and nothing else.

/// Of what a member says about itself.
inline constexpr size_t kMostStatusBytes = 1000;

/// A member's first words.
struct Introduction {
  MemberInfo member;
  /// The view that it has, if it comes back.
  std::optional<View> known;
  /// It has something to prepare before it is ready, and waits to be told that it has its seat.
  bool preparing = false;

  static Introduction from_json(const nlohmann::json& message);
};

/// What a member says later.
struct MemberMessage {
  enum class Kind { kBeat, kReady, kFail, kFinish, kHandedOver };
  Kind kind = Kind::kBeat;
  /// kReady: the epoch it leaves.
  uint64_t epoch = 0;
  /// kBeat: its status; kReady: what broke the epoch; kFail: why the job cannot be done. May be empty.
  std::string text;
  /// kReady: the id of a member that has not connected in time; may be empty.
  std::string unreachable;

  /// After these words the member may leave: it waits until they were heard.
  bool is_last() const { return kind == Kind::kFail || kind == Kind::kFinish || kind == Kind::kHandedOver; }
  static MemberMessage from_json(const nlohmann::json& message);
};

/// What the rendezvous says.
struct RendezvousMessage {
  enum class Kind { kView, kOver, kWaiting, kFailed, kTaken, kFinished, kAlive, kSeated, kHandOver, kAccepted, kHeard };
  Kind kind = Kind::kView;
  /// kView: of the epoch that begins.
  View view;
  /// kOver: the epoch that has ended.
  uint64_t epoch = 0;
  std::string why;

  static RendezvousMessage from_json(const nlohmann::json& message);
};

}  // namespace thalweg::comm
