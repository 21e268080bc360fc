// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "comm/connection.h"
#include "comm/control_messages.h"

namespace thalweg::comm {

/// A member's line to the rendezvous, on a thread of its own: shows that this member lives, learns who else does, and
/// comes back if the rendezvous is restarted.
class ControlChannel {
 public:
  /// What the member knows of an epoch that it is in. `over` is set as soon as that has ended.
  struct Epoch {
    View view;
    std::atomic<bool> over{false};
    std::string why;
    /// Told once that it is over, from the channel's thread. Guarded by the channel's mutex.
    std::shared_ptr<Communicator> communicator;
  };

  /// Connects, and throws Error if the rendezvous refuses this member or is not there before the deadline. `port` is
  /// where this member takes connections of its peers; the address of this host comes from the options or else from the
  /// connection. A member that is `preparing` has to call `await_seat` first.
  ControlChannel(const GroupOptions& options, MemberInfo info, int port, const Deadline& deadline, bool preparing);
  ~ControlChannel();

  const std::string& id() const { return info_.id; }
  /// Waits until this member has its seat, and may prepare itself. Throws Error as `next` does.
  void await_seat();
  /// Says that this member has left `epoch` (0: it is new) and waits for a later one, as long as the rendezvous
  /// answers. `unreachable` is the id of a peer that did not connect in time, if that is why. Throws Error if none will
  /// begin.
  std::shared_ptr<Epoch> next(uint64_t epoch, const std::string& failure, const std::string& unreachable = "");
  /// Has `communicator` aborted when the epoch ends, at once if it has ended.
  void watch(Epoch& epoch, std::shared_ptr<Communicator> communicator);
  void set_status(const std::string& status);
  bool newcomers_waiting() const { return newcomers_.load(); }
  /// Tells the rendezvous that the job is done, and waits a little until it has noted that: whoever looks at its state
  /// afterwards sees it there.
  void finish();
  /// The same for a job that cannot be done.
  void fail(const std::string& why);
  /// As in Group.
  bool hands_over();
  void handed_over() { say_last({{"type", "handed_over"}}); }

 private:
  void run();
  /// Until the connection breaks or the channel is closed.
  void talk(Connection& connection);
  void converse(Connection& connection);
  void set_connected(bool connected);
  std::optional<Connection> connect(const Deadline& deadline, std::string& error);
  /// Says in `info_` where peers reach this member, whose end of the connection to the rendezvous has the address
  /// `seen`.
  void say_where(const std::string& seen);
  void introduce(Connection& connection);
  nlohmann::json sign_of_life();
  void handle(const nlohmann::json& message);
  void obey(RendezvousMessage message);
  /// Sends a last message and waits until the rendezvous has heard it; only a little if it cannot be reached.
  void say_last(nlohmann::json message);
  /// Waits for what the rendezvous says, `come`, as long as it answers at all; `what` tells what is waited for.
  template <typename Condition>
  void wait_for(std::unique_lock<std::mutex>& lock, const std::string& what, const Condition& come);
  /// Throws what has ended this member's part, if something has.
  void check_error() const;
  bool cancelled() const { return options_.cancelled != nullptr && options_.cancelled->load(); }
  void end_epoch(uint64_t number, const std::string& why);
  void give_up(const std::string& why);
  void wake();

  GroupOptions options_;
  MemberInfo info_;
  int port_;
  bool preparing_;
  FileDescriptor wake_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Epoch> epoch_;
  /// The message that asks for the next epoch, to be repeated if the rendezvous is restarted meanwhile.
  nlohmann::json pending_ready_;
  /// What the next sign of life says besides; empty if it was said.
  std::string status_;
  std::deque<nlohmann::json> outgoing_;
  bool sending_ = false;
  bool connected_ = false;
  /// Last messages that the rendezvous has not answered yet.
  int unheard_ = 0;
  /// Why no epoch will come any more.
  std::string error_;
  bool seat_taken_ = false;
  bool job_ended_ = false;
  bool seated_ = false;
  bool asked_for_result_ = false;
  bool result_accepted_ = false;
  /// When the rendezvous last said something.
  std::chrono::steady_clock::time_point heard_ = std::chrono::steady_clock::now();
  /// Why there is no connection at the moment.
  std::string trouble_;
  std::atomic<bool> newcomers_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace thalweg::comm
