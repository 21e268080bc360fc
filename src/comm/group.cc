// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "comm/control_channel.h"
#include "comm/mesh_builder.h"
#include "comm/socket.h"
#include "comm/world_group.h"

namespace thalweg::comm {
namespace {

std::string default_name() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return std::string(host) + ":" + std::to_string(::getpid());
}

/// Every interface: the address that peers use follows from the connection to the rendezvous.
Listeners make_listeners(const std::string& id) { return {listen_tcp({"", 0}), listen_local("thalweg-" + id)}; }

MemberInfo make_info(const GroupOptions& options, const std::string& id) {
  MemberInfo info;
  info.id = id;
  info.name = options.name.empty() ? default_name() : options.name;
  info.host = options.path == Path::kAuto ? host_identity() : id;
  info.local = "thalweg-" + id;
  info.seat = options.seat;
  info.attempt = options.attempt;
  return info;
}

/// How long members that have been in the group together wait for a newcomer that they cannot reach.
constexpr std::chrono::seconds kReachTime{15};

Deadline deadline_to_form(const GroupOptions& options) {
  const Deadline deadline(options.form_timeout);
  return options.cancelled != nullptr ? deadline.unless(*options.cancelled) : deadline;
}

class Member : public Group {
 public:
  /// `world` is null unless mpirun has started the members. One that is `preparing` takes part with `next_epoch`.
  Member(const GroupOptions& options, std::shared_ptr<const MpiWorld> world, bool preparing)
      : options_(options),
        world_(std::move(world)),
        id_(random_text(16)),
        listeners_(make_listeners(id_)),
        channel_(options, make_info(options, id_), port_of(listeners_.tcp), deadline_to_form(options), preparing) {
    TW_REQUIRE(options.streams >= 1 && options.streams <= 64, "a group cannot use ", options.streams,
               " streams to each peer");
    TW_REQUIRE(options.path != Path::kMpi || world_ != nullptr,
               "messages go by MPI only among processes that mpirun has started");
    if (preparing) {
      channel_.await_seat();
    } else {
      enter(0, "");
    }
  }

  int rank() const override { return epoch_->view.rank_of(id_); }
  int size() const override { return static_cast<int>(epoch_->view.members.size()); }
  uint64_t epoch() const override { return epoch_->view.epoch; }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const MemberInfo& member : epoch_->view.members) names.push_back(member.name);
    return names;
  }
  Communicator& communicator() override { return *communicator_; }
  bool newcomers_waiting() const override { return channel_.newcomers_waiting(); }
  void next_epoch(const std::string& failure) override { enter(epoch(), failure); }
  void set_status(const std::string& status) override { channel_.set_status(status); }
  void fail(const std::string& why) override { channel_.fail(why); }
  void finish() override { channel_.finish(); }
  bool hands_over() override { return channel_.hands_over(); }
  void handed_over() override { channel_.handed_over(); }

 private:
  void enter(uint64_t after, std::string failure) {
    if (communicator_ != nullptr) communicator_->abort("this member has left the epoch");
    std::string unreachable;
    for (Deadline deadline = deadline_to_form(options_);;) {
      if (after > 0 && world_ != nullptr) end_for_all(failure);
      const Deadline at_once(options_.silence);
      epoch_ = channel_.next(after, failure, unreachable);
      // Only the time counts in which members try to connect, not that in which somebody is waited for.
      if (at_once.expired()) deadline = deadline_to_form(options_);
      Status status = connect(after > 0 ? deadline_to_reach(deadline) : deadline);
      if (status.ok()) return;
      TW_REQUIRE(!deadline.expired(), "the group did not come together again: ", status.failure().text());
      after = epoch();
      failure = status.failure().text();
      unreachable = unreachable_by(status.failure());
    }
  }

  /// MPI neither goes on without a process nor takes a new one in.
  [[noreturn]] void end_for_all(const std::string& failure) {
    const std::string why = "the processes that mpirun has started cannot go on: " + failure +
                            ". Start the job again; one that writes checkpoints goes on from the newest";
    channel_.fail(why);
    throw Error(why);
  }

  /// So that there is time left to go on without whom nobody reaches.
  Deadline deadline_to_reach(const Deadline& deadline) const {
    const std::chrono::duration<double> most =
        std::min<std::chrono::duration<double>>(kReachTime, options_.form_timeout / 2);
    const Deadline sooner(std::min<std::chrono::duration<double>>(most, deadline.remaining()));
    return options_.cancelled != nullptr ? sooner.unless(*options_.cancelled) : sooner;
  }

  /// The member that has not connected in time; empty if something else was the reason.
  std::string unreachable_by(const Failure& failure) const {
    const bool late = failure.kind == FailureKind::kTimeout && failure.peer >= 0 && !epoch_->over;
    return late ? epoch_->view.members[static_cast<size_t>(failure.peer)].id : "";
  }

  Status connect(const Deadline& deadline) {
    TW_REQUIRE(rank() >= 0, "the rendezvous formed an epoch without this member");
    Status status;
    std::shared_ptr<Communicator> made =
        connect_members(epoch_->view, rank(), listeners_, options_, world_, deadline.unless(epoch_->over), status);
    // The last one stays until then, aborted: whoever gives the group up uses it once more.
    if (!status) return status;
    communicator_ = std::move(made);
    channel_.watch(*epoch_, communicator_);
    return communicator_->barrier();
  }

  GroupOptions options_;
  std::shared_ptr<const MpiWorld> world_;
  std::string id_;
  Listeners listeners_;
  ControlChannel channel_;
  /// Before the first epoch, one without members.
  std::shared_ptr<ControlChannel::Epoch> epoch_ = std::make_shared<ControlChannel::Epoch>();
  std::shared_ptr<Communicator> communicator_;
};

}  // namespace

std::string make_secret() { return random_text(32); }

GroupOptions options_from_environment() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    TW_REQUIRE(value != nullptr, "this process belongs to no group: the environment has no ", name,
               " ('thalweg launch' sets it)");
    return std::string(value);
  };
  GroupOptions options;
  options.rendezvous = variable("THALWEG_RENDEZVOUS");
  options.secret = variable("THALWEG_SECRET");
  options.name = "worker " + variable("THALWEG_WORKER");
  const char* tls = std::getenv("THALWEG_TLS");
  options.tls = tls != nullptr && std::string(tls) == "1";
  if (const char* text = std::getenv("THALWEG_FORM_TIMEOUT")) {
    char* end = nullptr;
    const double seconds = std::strtod(text, &end);
    TW_REQUIRE(end != text && *end == '\0' && seconds > 0, "THALWEG_FORM_TIMEOUT is '", text,
               "', must be a number of seconds above 0");
    options.form_timeout = std::chrono::duration<double>(seconds);
  }
  return options;
}

std::unique_ptr<Group> Group::join(const GroupOptions& options) {
  return std::make_unique<Member>(options, nullptr, false);
}

std::unique_ptr<Group> Group::reserve(const GroupOptions& options) {
  return std::make_unique<Member>(options, nullptr, true);
}

std::unique_ptr<Group> join_world(const GroupOptions& options, std::shared_ptr<const MpiWorld> world) {
  return std::make_unique<Member>(options, std::move(world), false);
}

}  // namespace thalweg::comm
