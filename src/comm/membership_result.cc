// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// How what a group has made reaches whoever wants it, though any of its members may be lost on the way.
#include "comm/membership.h"

namespace thalweg::comm {

void Membership::finish(const std::string& id, Time now) {
  if (!in_view(id) || finished()) return;
  if (options_.wants_result) {
    done_ = true;
    ask_for_result(now);
  } else {
    end();
  }
  // Those for whom something broke at the very end wait for an epoch that will not come.
  for (const std::string& other : survivors_) {
    if (members_.at(other).ready) tell_end(other);
  }
}

void Membership::end() {
  finished_ = true;
  dismiss_newcomers();
}

void Membership::dismiss_newcomers() {
  for (const std::string& id : newcomers_) {
    const int seat = members_.at(id).info.seat;
    bool held = false;
    for (const std::string& other : survivors_) held |= seat >= 0 && members_.at(other).info.seat == seat;
    if (!held) tell_end(id);
  }
}

void Membership::tell_end(const std::string& id) {
  if (options_.wants_result && finished_) tell(id, {{"type", "accepted"}});
  tell(id, {{"type", "finished"}});
}

const MemberInfo* Membership::giver() const {
  const int rank = view_.rank_of(giver_);
  return rank >= 0 ? &view_.members[static_cast<size_t>(rank)] : nullptr;
}

void Membership::ask_for_result(Time now) {
  giver_.clear();
  handed_over_.reset();
  for (const MemberInfo& member : view_.members) {
    // Whoever starts attempts takes that for the outcome of a seat which a later attempt ended with: that it was taken.
    if (!in_view(member.id) || refused_.count(member.seat) > 0) continue;
    giver_ = member.id;
    tell(giver_, {{"type", "hand_over"}});
    return;
  }
  if (!survivors_.empty()) return fail("what the group has made was lost with the last member that could hand it over");
  done_ = false;
  regrouping_ = true;
  regrouping_since_ = now;
  give_seats();
  watch_shortage(now);
}

void Membership::handed_over(const std::string& id, Time now) {
  if (done_ && !finished_ && id == giver_) handed_over_ = now;
}

void Membership::accept_result() {
  if (finished_ || !error_.empty()) return;
  // If they have begun anew meanwhile, that is in vain.
  tell_view({{"type", done_ ? "accepted" : "finished"}});
  end();
}

void Membership::miss(const std::string& id, Time now) {
  if (finished_) return dismiss_newcomers();
  // One that has sent the result may leave.
  if (id == giver_ && !handed_over_) ask_for_result(now);
}

bool Membership::welcome_back(const MemberInfo& info, const std::optional<View>& known) {
  if (!done_ || !known || known->epoch != view_.epoch || view_.rank_of(info.id) < 0) return false;
  members_[info.id] = {info};
  survivors_.insert(info.id);
  if (info.id == giver_) tell(giver_, {{"type", "hand_over"}});
  return true;
}

void Membership::suspect_giver(Time now) {
  if (!handed_over_) return;
  survivors_.erase(giver_);
  ask_for_result(now);
}

}  // namespace thalweg::comm
