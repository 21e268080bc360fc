// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "thalweg/comm.h"

namespace thalweg::comm {

/// How a member can be reached, as it says itself when it joins.
struct MemberInfo {
  /// Random; tells it from every other member that ever was.
  std::string id;
  /// For people: host and process, or what the launcher calls it.
  std::string name;
  /// Members with the same text can share memory.
  std::string host;
  /// Where it takes connections of its peers: TCP, and a local socket of its host.
  std::string address;
  /// Where members on other hosts reach it if `address` is one that only its own host reaches; empty otherwise, and
  /// where this host has no other.
  std::string outside;
  std::string local;
  /// As in GroupOptions.
  int seat = -1;
  uint32_t attempt = 0;

  nlohmann::json to_json() const;
  /// Throws Error if something is missing or is no text of reasonable length.
  static MemberInfo from_json(const nlohmann::json& json);
};

/// Who belongs to the group in one epoch, in order of rank.
struct View {
  uint64_t epoch = 0;
  std::vector<MemberInfo> members;

  /// The rank of a member, -1 if it is not there.
  int rank_of(const std::string& id) const;
  nlohmann::json to_json() const;
  /// Throws Error for what is no view.
  static View from_json(const nlohmann::json& json);
};

/// A message to one member.
struct Notice {
  std::string id;
  nlohmann::json message;
};

/// Decides who belongs to the group, epoch after epoch. It knows neither sockets nor clocks: what happens is told to
/// it, with the time, and what to tell the members comes out of `take_notices`.
///
/// An epoch ends when a member is lost, or when its members ask for the next one. The next begins when all members that
/// are left have asked for it: then nobody is in the middle of a collective operation of the last.
class Membership {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Membership(RendezvousOptions options, Time now);

  /// Of a member that is new, or that was with us before and has lost the connection, or whose rendezvous was
  /// restarted: then `known` is the view that it has. One that is `preparing` is told once it has its seat, and is not
  /// ready before it says so.
  void join(const MemberInfo& info, const std::optional<View>& known, Time now, bool preparing = false);
  void lose(const std::string& id, const std::string& why, Time now);
  /// The member has left epoch `epoch` behind and waits for the next. `failure` says why if something broke, and
  /// `unreachable` which member did not connect to it in time: the others go on without that one if it is newer.
  void ready(const std::string& id, uint64_t epoch, const std::string& failure, Time now,
             const std::string& unreachable = "");
  /// The member's work, and with it everybody's, is done.
  void finish(const std::string& id, Time now);
  /// The member has sent the result that it was asked for.
  void handed_over(const std::string& id, Time now);
  /// The result is where it was wanted.
  void accept_result();
  /// The member says that the job cannot be done.
  void fail(const std::string& id, const std::string& why);
  /// Lets time pass.
  void tick(Time now);

  std::vector<Notice> take_notices() { return std::move(notices_); }
  const View& view() const { return view_; }
  /// Set once the group cannot form any more.
  const std::string& error() const { return error_; }
  /// The members have done their work, whether or not what they made has been accepted.
  bool finished() const { return finished_ || done_; }
  /// Nothing is left to be handed over either.
  bool ended() const { return finished_; }
  size_t waiting() const;
  /// Members that have a place of their own in this epoch or the next, ready or not.
  int present() const;
  /// Those of them that are not in a view yet, and not ready.
  std::vector<MemberInfo> preparing() const;
  /// Who was asked last to hand over the result; null if nobody was.
  const MemberInfo* giver() const;
  /// As Rendezvous::State has them.
  std::vector<int> forsaken_seats() const;

 private:
  struct Member {
    MemberInfo info;
    bool ready = false;
    /// After a restart of the rendezvous, a member of the view that has not come back yet.
    bool connected = true;
    /// It lives, but has something to do before it is ready, which it begins when it is told that it has its seat.
    bool preparing = false;
    bool told_seat = false;
    /// The first in which it took part; 0 if there is none yet.
    uint64_t first_epoch = 0;
  };

  bool in_view(const std::string& id) const { return survivors_.count(id) > 0; }
  /// After a restart: goes on with the view that a member has.
  void adopt(const View& known, Time now);
  /// Tells one that wants a seat which one of an earlier attempt has; true if it does.
  bool turn_away(const MemberInfo& info);
  /// Ends the part of a newcomer that one who was here before cannot reach.
  void shut_out(const std::string& id, const Member& complainer, const std::string& failure, Time now);
  /// Members of the epoch should know that somebody waits, and that there is room.
  bool can_admit() const;
  void announce_newcomers();
  void tell(const std::string& id, nlohmann::json message) { notices_.push_back({id, std::move(message)}); }
  void tell_view(const nlohmann::json& message);
  /// Ends the epoch: whoever still works in it should stop.
  void break_epoch(const std::string& why, Time now);
  void form_if_possible(Time now);
  void form(Time now);
  void fail(const std::string& why);
  /// The member that has the seat and has not been lost; null if there is none. A newcomer that waits for a seat that
  /// is free counts.
  const Member* holder(int seat) const;
  /// Whether nobody else has come earlier for the seat.
  bool is_first(const Member& member) const;
  /// Ready members for an epoch of their own: those with seats of which others have come earlier do not count.
  int ready_members() const;
  /// Tells those who prepare themselves that they have their seats.
  void give_seats();
  /// Starts or stops the clock of form_timeout.
  void watch_shortage(Time now);
  /// Members of the view that are still with us and have not asked for the next epoch.
  std::vector<std::string> laggards() const;
  std::string roll_call() const;

  // Of a group that has done its work (membership_result.cc).

  /// Nothing is left to do for anybody.
  void end();
  /// Tells a member that the work is done and, if it is so, that the result is where it was wanted.
  void tell_end(const std::string& id);
  /// Tells newcomers so, but for those whose seat somebody still has: what that one gives must come first.
  void dismiss_newcomers();
  /// Asks the next member for the result; if there is nobody left, the work begins anew.
  void ask_for_result(Time now);
  /// Of a group that waits for its result: one of its members is gone.
  void miss(const std::string& id, Time now);
  /// The same: true if it is one of its members that has lost the connection, and is back.
  bool welcome_back(const MemberInfo& info, const std::optional<View>& known);
  /// The result that was sent has not come: asks somebody else for it.
  void suspect_giver(Time now);

  RendezvousOptions options_;
  std::map<std::string, Member> members_;
  /// Ids that are in no view yet, in the order in which they came.
  std::vector<std::string> newcomers_;
  View view_;
  /// Of all epochs that a member has been in, also before a restart: they wait for a later one.
  uint64_t latest_known_ = 0;
  /// Members that were done without because they did not leave an epoch in time, but are connected still: once they
  /// have left it, they come anew.
  std::map<std::string, MemberInfo> dropped_;
  /// The members of the view that have not been lost since it began.
  std::set<std::string> survivors_;
  /// The epoch is over, the next has not begun.
  bool regrouping_ = true;
  /// Since when it has been so, and when somebody last came.
  Time regrouping_since_;
  Time last_join_;
  bool anybody_came_ = false;
  /// Since when too few members are there for an epoch to begin.
  std::optional<Time> short_since_;
  std::optional<Time> adopted_;
  /// Seats for which one of a later attempt was turned away.
  std::set<int> refused_;
  bool finished_ = false;
  /// The members have finished, and the result is wanted: `giver_` was asked for it, and has sent it at `handed_over_`.
  bool done_ = false;
  std::string giver_;
  std::optional<Time> handed_over_;
  std::string error_;
  std::vector<Notice> notices_;
};

}  // namespace thalweg::comm
