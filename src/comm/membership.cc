// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/membership.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "base/text.h"

namespace thalweg::comm {
namespace {

using nlohmann::json;

constexpr size_t kMostText = 512;
constexpr int64_t kMostMembers = 4096;
/// Nobody lives through so many; schemes count steps beside the number of the epoch.
constexpr uint64_t kMostEpochs = uint64_t{1} << 22U;

std::string text_field(const json& object, const char* key) {
  const auto found = object.find(key);
  TW_REQUIRE(found != object.end() && found->is_string(), "a member's ", key, " is missing or is no text");
  std::string text = found->get<std::string>();
  TW_REQUIRE(text.size() <= kMostText, "a member's ", key, " is ", text.size(), " bytes long");
  return text;
}

int64_t number_field(const json& object, const char* key, int64_t least, int64_t most) {
  const auto found = object.find(key);
  TW_REQUIRE(found != object.end() && found->is_number_integer(), "a member's ", key, " is missing or is no number");
  const auto number = found->get<int64_t>();
  TW_REQUIRE(number >= least && number <= most, "a member's ", key, " is ", number);
  return number;
}

std::string seconds_text(std::chrono::duration<double> time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", time.count());
  return text;
}

}  // namespace

json MemberInfo::to_json() const {
  json object = {{"id", id},       {"name", name}, {"host", host},      {"address", address},
                 {"local", local}, {"seat", seat}, {"attempt", attempt}};
  if (!outside.empty()) object["outside"] = outside;
  return object;
}

MemberInfo MemberInfo::from_json(const json& object) {
  TW_REQUIRE(object.is_object(), "a member is no JSON object");
  return {text_field(object, "id"),
          text_field(object, "name"),
          text_field(object, "host"),
          text_field(object, "address"),
          object.contains("outside") ? text_field(object, "outside") : "",
          text_field(object, "local"),
          static_cast<int>(number_field(object, "seat", -1, kMostMembers - 1)),
          static_cast<uint32_t>(number_field(object, "attempt", 0, std::numeric_limits<uint32_t>::max()))};
}

int View::rank_of(const std::string& id) const {
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].id == id) return static_cast<int>(i);
  }
  return -1;
}

json View::to_json() const {
  json list = json::array();
  for (const MemberInfo& member : members) list.push_back(member.to_json());
  return {{"epoch", epoch}, {"members", list}};
}

View View::from_json(const json& object) {
  TW_REQUIRE(object.is_object() && object.contains("epoch") && object.contains("members"), "this is no view");
  const json& epoch = object.at("epoch");
  const json& members = object.at("members");
  TW_REQUIRE(epoch.is_number_unsigned() && members.is_array() && members.size() <= size_t{kMostMembers},
             "this is no view");
  View view;
  view.epoch = epoch.get<uint64_t>();
  TW_REQUIRE(view.epoch <= kMostEpochs, "a view of epoch ", view.epoch);
  std::set<std::string> ids;
  for (const json& member : members) {
    view.members.push_back(MemberInfo::from_json(member));
    TW_REQUIRE(ids.insert(view.members.back().id).second, "a view has member ", view.members.back().id, " twice");
  }
  return view;
}

Membership::Membership(RendezvousOptions options, Time now)
    : options_(std::move(options)), regrouping_since_(now), last_join_(now) {
  TW_REQUIRE(options_.min_size >= 1 && options_.max_size >= options_.min_size, "a group of ", options_.min_size, " to ",
             options_.max_size, " members cannot be");
  watch_shortage(now);
}

void Membership::join(const MemberInfo& info, const std::optional<View>& known, Time now, bool preparing) {
  if (finished_) return tell_end(info.id);
  if (!error_.empty()) return tell(info.id, {{"type", "failed"}, {"why", error_}});
  anybody_came_ = true;
  if (welcome_back(info, known)) return;
  if (known) latest_known_ = std::max(latest_known_, known->epoch);
  if (view_.epoch == 0 && survivors_.empty() && known && known->rank_of(info.id) >= 0) adopt(*known, now);
  const auto found = members_.find(info.id);
  if (found != members_.end() && in_view(info.id) && known && known->epoch == view_.epoch) {
    found->second.connected = true;
    if (regrouping_) tell(info.id, {{"type", "over"}, {"epoch", view_.epoch}, {"why", "the group changes"}});
    if (can_admit()) tell(info.id, {{"type", "waiting"}, {"count", waiting()}});
    return;
  }
  TW_REQUIRE(info.seat < options_.max_size, "there is no seat ", info.seat, " in a group of ", options_.max_size);
  if (turn_away(info)) return;
  // One that forgot what it took part in.
  lose(info.id, "it has come anew", now);
  // Whoever was here before has missed the end of its epoch.
  if (known)
    tell(info.id, {{"type", "over"}, {"epoch", known->epoch}, {"why", "the group went on without this member"}});
  // Whoever starts the attempts listens to this one: the attempt that was refused is no concern any more.
  if (!known && holder(info.seat) == nullptr) refused_.erase(info.seat);
  // Nobody would have started it if what that seat has sent had come.
  if (done_ && info.seat >= 0 && giver()->seat == info.seat) suspect_giver(now);
  members_[info.id] = {info, !known && !preparing, true, !known && preparing};
  if (std::find(newcomers_.begin(), newcomers_.end(), info.id) == newcomers_.end()) newcomers_.push_back(info.id);
  last_join_ = now;
  announce_newcomers();
  give_seats();
  watch_shortage(now);
}

bool Membership::turn_away(const MemberInfo& info) {
  const Member* other = holder(info.seat);
  if (done_ || other == nullptr || other->info.attempt >= info.attempt) return false;
  refused_.insert(info.seat);
  tell(info.id, {{"type", "taken"}, {"why", other->info.name + " has seat " + std::to_string(info.seat)}});
  return true;
}

bool Membership::can_admit() const {
  return !regrouping_ && waiting() > 0 && static_cast<int>(view_.members.size()) < options_.max_size;
}

void Membership::announce_newcomers() {
  if (can_admit()) tell_view({{"type", "waiting"}, {"count", waiting()}});
}

const Membership::Member* Membership::holder(int seat) const {
  if (seat < 0) return nullptr;
  for (const auto& [id, member] : members_) {
    if (member.info.seat == seat && in_view(id)) return &member;
  }
  for (const std::string& id : newcomers_) {
    if (members_.at(id).info.seat == seat) return &members_.at(id);
  }
  return nullptr;
}

std::vector<int> Membership::forsaken_seats() const {
  std::vector<int> seats;
  if (finished() || !error_.empty()) return seats;
  std::copy_if(refused_.begin(), refused_.end(), std::back_inserter(seats),
               [&](int seat) { return holder(seat) == nullptr; });
  return seats;
}

bool Membership::is_first(const Member& member) const {
  const Member* first = holder(member.info.seat);
  return first == nullptr || first == &member;
}

int Membership::ready_members() const {
  return static_cast<int>(std::count_if(members_.begin(), members_.end(), [&](const auto& entry) {
    return entry.second.ready && is_first(entry.second);
  }));
}

int Membership::present() const {
  return static_cast<int>(std::count_if(members_.begin(), members_.end(), [&](const auto& entry) {
    const Member& member = entry.second;
    return (member.ready || member.preparing || in_view(entry.first)) && is_first(member);
  }));
}

std::vector<MemberInfo> Membership::preparing() const {
  std::vector<MemberInfo> result;
  for (const std::string& id : newcomers_) {
    const Member& member = members_.at(id);
    if (member.preparing && is_first(member)) result.push_back(member.info);
  }
  return result;
}

void Membership::give_seats() {
  if (finished()) return;
  for (const std::string& id : newcomers_) {
    Member& member = members_.at(id);
    if (!member.preparing || member.told_seat || !is_first(member)) continue;
    member.told_seat = true;
    tell(id, {{"type", "seated"}});
  }
}

void Membership::watch_shortage(Time now) {
  const bool counts = regrouping_ && (anybody_came_ || !options_.queued);
  if (!counts || present() >= options_.min_size) {
    short_since_.reset();
  } else if (!short_since_) {
    short_since_ = now;
  }
}

void Membership::adopt(const View& known, Time now) {
  view_ = known;
  regrouping_ = false;
  adopted_ = now;
  std::vector<std::string> unaware;
  for (const MemberInfo& member : known.members) {
    // Who came as a newcomer was not told of this epoch before the restart.
    const auto [entry, added] = members_.try_emplace(member.id, Member{member, false, false});
    if (added) entry->second.first_epoch = known.epoch;
    if (added) survivors_.insert(member.id);
    if (!added) unaware.push_back(member.name);
  }
  const std::vector<std::string> waiting = newcomers_;
  for (const std::string& id : waiting) {
    if (turn_away(members_.at(id).info)) lose(id, "its seat is taken", now);
  }
  if (!unaware.empty()) break_epoch(::thalweg::join(unaware, ", ") + " did not learn of this epoch", now);
}

void Membership::lose(const std::string& id, const std::string& why, Time now) {
  dropped_.erase(id);
  const auto found = members_.find(id);
  if (found == members_.end()) return;
  const std::string name = found->second.info.name;
  members_.erase(found);
  newcomers_.erase(std::remove(newcomers_.begin(), newcomers_.end(), id), newcomers_.end());
  if (survivors_.erase(id) > 0) {
    if (finished()) {
      miss(id, now);
    } else {
      break_epoch("rank " + std::to_string(view_.rank_of(id)) + " (" + name + ") was lost: " + why, now);
    }
  }
  give_seats();
  watch_shortage(now);
}

void Membership::break_epoch(const std::string& why, Time now) {
  if (!regrouping_) regrouping_since_ = now;
  regrouping_ = true;
  tell_view({{"type", "over"}, {"epoch", view_.epoch}, {"why", why}});
}

void Membership::shut_out(const std::string& id, const Member& complainer, const std::string& failure, Time now) {
  const auto found = members_.find(id);
  if (found == members_.end() || !in_view(id) || complainer.first_epoch >= found->second.first_epoch) return;
  const std::string why = complainer.info.name + " cannot reach it at " + found->second.info.address + ": " + failure;
  tell(id, {{"type", "failed"}, {"why", "the group goes on without this member: " + why}});
  lose(id, why, now);
}

void Membership::ready(const std::string& id, uint64_t epoch, const std::string& failure, Time now,
                       const std::string& unreachable) {
  if (const auto dropped = dropped_.find(id); dropped != dropped_.end()) {
    if (finished()) return tell_end(id);
    const MemberInfo info = dropped->second;
    dropped_.erase(dropped);
    return join(info, std::nullopt, now);
  }
  const auto found = members_.find(id);
  if (found == members_.end()) return;
  if (finished() && in_view(id)) {
    // It was at the end like all others, and something broke before it knew.
    return tell_end(id);
  }
  // What is said twice, because a connection was lost in between, may come when the next epoch has begun.
  if (in_view(id) && epoch != view_.epoch) return;
  found->second.ready = true;
  found->second.preparing = false;
  if (!in_view(id)) announce_newcomers();
  if (in_view(id)) shut_out(unreachable, found->second, failure, now);
  if (!in_view(id) || regrouping_) return;
  regrouping_ = true;
  regrouping_since_ = now;
  if (!failure.empty()) break_epoch(found->second.info.name + " says: " + failure, now);
}

void Membership::fail(const std::string& id, const std::string& why) {
  const auto found = members_.find(id);
  if (found == members_.end() || finished_ || !error_.empty()) return;
  fail(found->second.info.name + ": " + why);
}

void Membership::tick(Time now) {
  if (finished_ || !error_.empty()) return;
  if (done_) {
    if (handed_over_ && now - *handed_over_ > options_.form_timeout) suspect_giver(now);
    return;
  }
  if (adopted_ && now - *adopted_ > options_.return_timeout) {
    adopted_.reset();
    std::vector<std::string> absent;
    for (const auto& [id, member] : members_) {
      if (!member.connected) absent.push_back(id);
    }
    for (const std::string& id : absent) lose(id, "it did not come back to the restarted rendezvous", now);
  }
  if (regrouping_ && !view_.members.empty() && now - regrouping_since_ > options_.regroup_timeout) {
    for (const std::string& id : laggards()) {
      tell(id, {{"type", "over"}, {"epoch", view_.epoch}, {"why", "the group went on without this member"}});
      const MemberInfo info = members_.at(id).info;
      lose(id, "it did not leave the broken epoch in time", now);
      dropped_[id] = info;
    }
  }
  if (regrouping_) form_if_possible(now);
}

std::vector<std::string> Membership::laggards() const {
  std::vector<std::string> result;
  for (const std::string& id : survivors_) {
    if (!members_.at(id).ready) result.push_back(id);
  }
  return result;
}

size_t Membership::waiting() const {
  return static_cast<size_t>(std::count_if(newcomers_.begin(), newcomers_.end(),
                                           [&](const std::string& id) { return members_.at(id).ready; }));
}

void Membership::form_if_possible(Time now) {
  watch_shortage(now);
  if (!laggards().empty()) return;
  const int ready = ready_members();
  const bool first = view_.epoch == 0;
  const bool settled = !first || now - last_join_ >= options_.settle;
  if (ready >= options_.max_size || (ready >= options_.min_size && settled)) {
    form(now);
  } else if (short_since_ && now - *short_since_ > options_.form_timeout) {
    fail("the group did not form: " + roll_call());
  }
}

void Membership::form(Time now) {
  View next;
  next.epoch = std::max(view_.epoch, latest_known_) + 1;
  if (next.epoch > kMostEpochs) return fail("the group has gone through " + std::to_string(kMostEpochs) + " epochs");
  for (const MemberInfo& member : view_.members) {
    if (in_view(member.id)) next.members.push_back(member);
  }
  std::vector<std::string> left;
  for (const std::string& id : newcomers_) {
    const Member& member = members_.at(id);
    const bool fits = static_cast<int>(next.members.size()) < options_.max_size;
    if (fits && member.ready && is_first(member)) {
      next.members.push_back(member.info);
    } else {
      left.push_back(id);
    }
  }
  std::stable_sort(next.members.begin(), next.members.end(),
                   [](const MemberInfo& a, const MemberInfo& b) { return a.seat < b.seat; });
  newcomers_ = left;
  view_ = next;
  regrouping_ = false;
  regrouping_since_ = now;
  short_since_.reset();
  survivors_.clear();
  for (const MemberInfo& member : view_.members) {
    Member& entry = members_.at(member.id);
    entry.ready = false;
    if (entry.first_epoch == 0) entry.first_epoch = view_.epoch;
    survivors_.insert(member.id);
  }
  tell_view({{"type", "view"}, {"view", view_.to_json()}});
}

std::string Membership::roll_call() const {
  std::vector<std::string> came, missing;
  for (const auto& [id, member] : members_) came.push_back(member.info.name);
  std::sort(came.begin(), came.end());
  for (const std::string& name : options_.expected) {
    if (std::find(came.begin(), came.end(), name) == came.end()) missing.push_back(name);
  }
  std::string text = std::to_string(came.size()) + " of at least " + std::to_string(options_.min_size) +
                     " members came (" + (came.empty() ? "nobody" : ::thalweg::join(came, ", ")) + ")";
  if (!missing.empty()) text += ", missing: " + ::thalweg::join(missing, ", ");
  std::vector<std::string> empty;
  for (int seat = 0; seat < options_.max_size; ++seat) {
    if (holder(seat) == nullptr) empty.push_back(std::to_string(seat));
  }
  const auto seated = [](const auto& entry) { return entry.second.info.seat >= 0; };
  if (std::any_of(members_.begin(), members_.end(), seated) && !empty.empty())
    text += ", nobody for seat " + ::thalweg::join(empty, ", ");
  return text + ". For " + seconds_text(options_.form_timeout) + " s there were too few at the same time";
}

void Membership::tell_view(const json& message) {
  for (const std::string& id : survivors_) tell(id, message);
}

void Membership::fail(const std::string& why) {
  error_ = why;
  for (const auto& [id, member] : members_) tell(id, {{"type", "failed"}, {"why", why}});
}

}  // namespace thalweg::comm
