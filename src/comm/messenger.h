// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/deadline.h"
#include "comm/file_descriptor.h"
#include "comm/frame_stream.h"
#include "comm/shared_area.h"

namespace thalweg::comm {

/// Carries the messages of all channels and subgroups of one member, over a link to each peer that nothing else uses:
/// so collectives of the whole group go on as if there were none. Threads of its own, from the first message on, read
/// what comes and write what a link did not take at once; there is one for each way in which links can be waited for.
/// Any thread may call anything here.
class Messenger {
 public:
  /// One link for each rank, the own one null. `doorbell` is what peers ring whose links are rings in `area`; null if
  /// there are none.
  Messenger(int rank, std::vector<std::unique_ptr<Link>> links, std::shared_ptr<SharedArea> area, Signal* doorbell);
  ~Messenger();
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(streams_.size()); }

  void send(const std::shared_ptr<Delivery>& message);
  void receive(const std::shared_ptr<Delivery>& message);
  /// True if one of them is done before the deadline.
  bool wait_any(std::span<const std::shared_ptr<Delivery>> deliveries, const Deadline& deadline);
  bool wait(const std::shared_ptr<Delivery>& delivery, const Deadline& deadline) {
    return wait_any({&delivery, 1}, deadline);
  }
  /// As Pending::cancel.
  bool cancel(Delivery& delivery);
  /// Ends deliveries in memory of the caller, which is not touched any more afterwards.
  void let_go(std::span<const std::shared_ptr<Delivery>> deliveries);

  /// Fails everything, from now on.
  void abort(const std::string& why);
  /// The same for one communicator.
  void abort(uint64_t context, const std::string& why);
  /// A communicator is gone: what came for it and comes later is forgotten.
  void forget(uint64_t context);
  /// Aborts, ends the threads and closes the links.
  void close();

 private:
  enum class Wake { kSocket, kDoorbell, kNothing };
  static Wake wake_of(const Link& link);

  /// Why nothing more can be sent to or come from there; ok if it can.
  Status trouble_of(const Delivery& delivery) const;
  void start_threads();
  /// Lets callers have the mutex first.
  void give_way() const;
  void run_sockets();
  void run_doorbell();
  void run_polls();
  /// Moves what can be moved over links of one kind; true if that was anything.
  bool progress(Wake wake);
  bool progress(FrameStream& stream);
  void send_to_itself(Delivery& message);
  /// After anything that may have changed streams or mailbox: hands out grants, notes which peers are lost, and tells
  /// those who wait.
  void settle();
  void hand_out_grants();
  void lose(size_t peer);
  void fail_all(const Failure& failure);
  void wake_sockets() const;

  int rank_;
  std::shared_ptr<SharedArea> area_;
  Signal* doorbell_;
  FileDescriptor wake_;

  /// Guards all that follows. Links are used under it too: they do not wait.
  std::mutex mutex_;
  std::condition_variable changed_;
  Mailbox mailbox_;
  std::vector<std::optional<FrameStream>> streams_;
  std::vector<Status> peer_trouble_;
  std::map<uint64_t, Status> context_trouble_;
  Status failed_;
  /// A delivery is done, and those who wait have not been told.
  bool news_ = false;
  bool started_ = false;

  /// Callers who want the mutex: the threads then step back.
  std::atomic<int> callers_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;

  class Caller;
};

}  // namespace thalweg::comm
