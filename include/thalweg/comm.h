// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/comm/channel.h"
#include "thalweg/error.h"
#include "thalweg/tensor.h"

namespace thalweg::comm {

enum class ReduceOp { kSum, kMin, kMax, kProduct };

/// The elements [begin, end) that belong to one of several members.
struct Part {
  size_t begin = 0;
  size_t end = 0;
  size_t size() const { return end - begin; }
};
/// Cuts `count` elements into `parts` of nearly equal size; the first ones are larger by one element.
Part part_of(size_t count, int parts, int index);

/// Collective operations among the members of a group: every member calls the same ones in the same order with the same
/// sizes, from one thread at a time. What others threads do meanwhile goes through channels, or through subgroups with
/// collectives of their own. Between processes of one host data goes through shared memory, otherwise over the network.
/// The order of sums depends on ranks and sizes alone: the same values give the same bits, on every member and every
/// time. Sums of bf16 and f16 are computed in f32 and rounded after each addition.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Which members share a host, as far as that is known: lists of ranks in ascending order, ordered by their first.
  virtual std::vector<std::vector<int>> hosts() const = 0;

  /// Every member ends with the reduction of all.
  virtual Status all_reduce(void* data, size_t count, DType dtype, ReduceOp op = ReduceOp::kSum) = 0;
  /// Member r ends with the reduction of part r of the data (part_of); the other parts hold nothing of use.
  virtual Status reduce_scatter(void* data, size_t count, DType dtype, ReduceOp op = ReduceOp::kSum) = 0;
  /// Member r brings part r of the data (part_of), and every member ends with all parts.
  virtual Status all_gather(void* data, size_t count, DType dtype) = 0;
  virtual Status broadcast(void* data, size_t bytes, int root) = 0;
  /// The root ends with the reduction; what the others hold then is of no use.
  virtual Status reduce(void* data, size_t count, DType dtype, ReduceOp op, int root) = 0;
  /// `all` has room for `bytes` of every member, in order of rank, and is used by the root only.
  virtual Status gather(const void* mine, size_t bytes, void* all, int root) = 0;
  /// Block r of `outgoing` goes to member r; block r of `incoming` comes from it.
  virtual Status all_to_all(const void* outgoing, void* incoming, size_t bytes_each) = 0;
  virtual Status barrier() = 0;

  /// Returns when the receiver has taken the data or buffers hold it: two members that both send first may wait for
  /// each other until the deadline. Use `exchange` then.
  virtual Status send(int peer, uint32_t tag, const void* data, size_t bytes) = 0;
  /// The size must be the sender's. Messages of one sender with the same tag arrive in order.
  virtual Status receive(int peer, uint32_t tag, void* data, size_t bytes) = 0;
  virtual Status exchange(int to, const void* outgoing, size_t outgoing_bytes, int from, void* incoming,
                          size_t incoming_bytes, uint32_t tag) = 0;

  /// Messages of any size that nobody has to expect, from any thread. `id` is the same at those who talk to each other;
  /// several channels of one id, made one after the other or at once, are one. From any thread.
  virtual std::unique_ptr<Channel> channel(uint32_t id, const ChannelOptions& options = {}) = 0;
  /// A communicator of some members: `ranks` in the order that their ranks there will have, this member's among them.
  /// Its members, and nobody else, call this with the same list. It takes no message. What subgroups and their channels
  /// send is never taken for anybody else's, so that one thread may use each of them, all at once. It lives no longer
  /// than this communicator, and fails with it; what breaks a subgroup leaves the others alone. From any thread.
  virtual std::unique_ptr<Communicator> split(const std::vector<int>& ranks) = 0;
  /// What this member has sent and received by this communicator, its channels and its subgroups. Collectives inside a
  /// host count what others read of this member's values, and what it reads of theirs.
  virtual Traffic traffic() const = 0;

  /// Fails the call under way and every later one, of channels and subgroups too. From any thread.
  virtual void abort(const std::string& why) = 0;
  /// How long a call may take at most.
  virtual void set_timeout(std::chrono::duration<double> timeout) = 0;
};

/// Cuts the group into one communicator for each color that its members bring, in order of rank. Every member calls it;
/// one with a negative color belongs to none, and gets null.
Status split_by_color(Communicator& all, int color, std::unique_ptr<Communicator>& own);

struct RendezvousOptions {
  /// Where members meet, "host:port"; port 0 lets the system choose, an empty host means every interface.
  std::string address = "127.0.0.1:0";
  /// What members must know. They show it by keyed hashes; it is never sent.
  std::string secret;
  /// Whether all that goes over the network is encrypted, with TLS 1.3 and keys that follow from the secret. Who does
  /// not agree is refused.
  bool tls = false;
  int min_size = 1;
  int max_size = 1;
  /// With at least min_size members but fewer than max_size, how long to wait for more after the last one came.
  std::chrono::duration<double> settle{1.0};
  /// How long the group may be short of min_size members, before it has formed and when some were lost. One that
  /// prepares itself (Group::reserve) counts as there as long as it gives signs of life. A group that wants a result
  /// waits as long for one that is on its way.
  std::chrono::duration<double> form_timeout{120.0};
  /// Whoever starts the members may keep them in a queue, for any time: form_timeout counts only from when the first
  /// one has come. Otherwise from the beginning.
  bool queued = false;
  /// What the group makes has to reach whoever keeps the rendezvous. When the members have finished, one of them is
  /// asked to hand it over (Group::hands_over), another if that one is lost; the others stay until
  /// Rendezvous::accept_result.
  bool wants_result = false;
  /// How long members may take to leave a broken epoch before they count as lost.
  std::chrono::duration<double> regroup_timeout{30.0};
  /// A member that says nothing for so long is lost. Members say something four times in it.
  std::chrono::duration<double> silence{1.9};
  /// How long members may take to find a rendezvous that was started again at the same address, before it counts them
  /// as lost. The group works on meanwhile.
  std::chrono::duration<double> return_timeout{15.0};
  /// Names of the members that should come, for the message when some do not; may be empty.
  std::vector<std::string> expected;
  /// Takes a line about every member that comes, is lost or refused; by default it goes to standard error.
  std::function<void(const std::string&)> log;
};

/// The place where the members of a group meet: it gives them ranks, notices who is lost, and admits who comes later.
/// It runs on a thread of its own, in a launcher, a driver or one of the workers. No data of theirs passes through it.
/// If it is restarted at the same address, the members come back and go on.
class Rendezvous {
 public:
  /// Throws Error if it cannot listen there.
  explicit Rendezvous(RendezvousOptions options);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// With the port that was chosen.
  std::string address() const;
  struct Member {
    std::string name;
    /// What it said last about itself (Group::set_status).
    std::string status;
  };
  struct State {
    uint64_t epoch = 0;
    int size = 0;
    /// Members that wait to be admitted.
    int waiting = 0;
    bool finished = false;
    /// Why the group cannot form; empty otherwise.
    std::string error;
    /// Of the epoch, by rank.
    std::vector<Member> members;
    /// Those that have a seat and prepare themselves for the next epoch (Group::reserve).
    std::vector<Member> preparing;
    /// Members that are there, ready or not; spares do not count.
    int present = 0;
    /// Seats that nobody has, and for which one of a later attempt was told that they were taken: whoever starts the
    /// attempts may think them served, and must be asked for another.
    std::vector<int> forsaken_seats;
    /// How often a member of each name has come as a new one, admitted or not.
    std::map<std::string, int> arrivals;
    /// Who is asked for the result (RendezvousOptions::wants_result); empty before, and when it is here.
    std::string giver;
  };
  State state() const;
  /// The result that the group was to make is here (RendezvousOptions::wants_result): the job is done, and members may
  /// go.
  void accept_result();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

enum class Path {
  /// Shared memory inside a host. Between hosts TCP or, among processes that mpirun has started, MPI.
  kAuto,
  kTcp,  ///< TCP everywhere
  kMpi   ///< MPI everywhere; only for join_launched in a process that mpirun has started
};

struct GroupOptions {
  /// Where the rendezvous is, "host:port".
  std::string rendezvous;
  std::string secret;
  /// As RendezvousOptions::tls. Shared memory inside a host stays as it is.
  bool tls = false;
  /// For messages; by default host name and process number.
  std::string name;
  Path path = Path::kAuto;
  /// TCP connections to each peer, over which long messages are spread.
  int streams = 1;
  /// How long the rendezvous may be silent while this member waits for it, and how long members may take to connect to
  /// each other. How long the group as a whole may take to form is for the rendezvous to say.
  std::chrono::duration<double> form_timeout{120.0};
  /// How long a collective operation may take.
  std::chrono::duration<double> timeout{60.0};
  /// As RendezvousOptions::silence.
  std::chrono::duration<double> silence{1.9};
  /// For workers that are not alike, as each has data of its own: this member's rank, whenever it comes. A group whose
  /// members have seats forms when all of them, 0 to RendezvousOptions::max_size - 1, are taken. Who asks for a seat
  /// that somebody has waits until it is free. -1: ranks are given in the order of coming.
  int seat = -1;
  /// Of several attempts at the same work. Who comes for a seat that one of an earlier attempt has throws SeatTaken at
  /// once in place of waiting.
  uint32_t attempt = 0;
  /// Once it is set, this member leaves the group within a second: whatever it waits for ends with an Error or, as a
  /// value, a Failure. Null: never.
  std::shared_ptr<const std::atomic<bool>> cancelled;
  /// The name or number of this host by which members on other hosts reach it, without a port. Empty: that of this end
  /// of the connection to the rendezvous. If that leads to this host only, because the rendezvous is here too, members
  /// that came to the rendezvous from elsewhere take the address of this host's first interface that is up.
  std::string address = {};
  /// Takes a line about everybody who connects to this member without belonging to the group, and is refused; by
  /// default it goes to standard error.
  std::function<void(const std::string&)> log = {};
};

/// Somebody of an earlier attempt does the work of this seat already, and goes on with it.
class SeatTaken : public Error {
 public:
  using Error::Error;
};

/// The job was done before this member could take part in it, or while the others did without it: nothing is left to
/// do.
class JobEnded : public Error {
 public:
  using Error::Error;
};

/// A secret nobody can guess, for one job.
std::string make_secret();

/// For a worker that `thalweg launch` has started: rendezvous, secret and name from the environment
/// (THALWEG_RENDEZVOUS, THALWEG_SECRET, THALWEG_WORKER), and what it was told of TLS and of the time to form in
/// (THALWEG_TLS=1, THALWEG_FORM_TIMEOUT in seconds). Throws Error naming the variable that is missing or makes no
/// sense.
GroupOptions options_from_environment();

/// What a program wants of the group it was started for.
struct LaunchedOptions {
  Path path = Path::kAuto;
  /// Insist on it (GroupOptions::tls). Otherwise it is as `thalweg launch` was told, and mpirun's processes have none.
  /// What goes by MPI is never encrypted: with this, they use TCP between hosts.
  bool tls = false;
  /// As in GroupOptions.
  int streams = GroupOptions().streams;
  std::chrono::duration<double> timeout = GroupOptions().timeout;
  /// Unless it is set, as `thalweg launch` was told, or as in GroupOptions.
  std::optional<std::chrono::duration<double>> form_timeout = std::nullopt;
};

class Group;
/// The group that this process was started for, by `thalweg launch`, or by mpirun if Thalweg was built with OpenMPI;
/// null if by neither. Throws Error if the group does not form. Under mpirun a group that has lost a member cannot go
/// on: `Group::next_epoch` throws at all others.
std::shared_ptr<Group> join_launched(const LaunchedOptions& options = {});

/// Membership in a group. Its epochs are numbered from 1; in each, the members have ranks and a communicator that
/// connects them. When a member is lost the communicator fails, everywhere; the others then call `next_epoch` and go
/// on.
class Group {
 public:
  /// Waits until the group has formed. Throws Error if it does not, with who came and who did not; JobEnded if the job
  /// is done.
  static std::unique_ptr<Group> join(const GroupOptions& options);
  /// For a member that has something to prepare, such as its data to read: returns as soon as it has its seat, which
  /// may take as long as somebody else has it. There are no other members then, and epoch 0, until `next_epoch` says
  /// that this one is ready; the others wait for it as long as its process lives. Throws Error as `join` does.
  static std::unique_ptr<Group> reserve(const GroupOptions& options);
  /// Leaves; to the others this member is lost unless `finish` was called.
  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual uint64_t epoch() const = 0;
  /// By rank.
  virtual std::vector<std::string> names() const = 0;
  /// Of this epoch; valid until `next_epoch`.
  virtual Communicator& communicator() = 0;
  /// Members wait to be admitted to the next epoch. Others may learn of it earlier or later: agree before you call
  /// `next_epoch`.
  virtual bool newcomers_waiting() const = 0;
  /// Leaves this epoch and waits for the next. Every member must do so, after a failure by itself. `failure` says what
  /// broke, if something did: the others' operations then fail as well. Throws Error if the group does not form again;
  /// JobEnded if the others have finished without this member.
  virtual void next_epoch(const std::string& failure = "") = 0;
  /// A few words about this member, up to 1000 bytes, that travel to the rendezvous with its next signs of life.
  virtual void set_status(const std::string& status) = 0;
  /// The job cannot be done, for a reason that another try would not change: every member fails with `why`, and the
  /// rendezvous keeps it (Rendezvous::State::error). Returns once it does, or after a few seconds if it does not
  /// answer.
  virtual void fail(const std::string& why) = 0;
  /// The job is done: members that leave are not missed, and nobody is admitted any more. Returns as `fail` does.
  virtual void finish() = 0;
  /// After `finish`, where the rendezvous wants a result: waits until it is this member's turn to hand it over, which
  /// is true, or until the rendezvous has it. Whoever is asked says `handed_over` before it leaves, or another is
  /// asked.
  virtual bool hands_over() = 0;
  /// What was asked for is on its way.
  virtual void handed_over() = 0;
};

}  // namespace thalweg::comm
