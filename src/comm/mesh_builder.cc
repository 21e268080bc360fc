// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/mesh_builder.h"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <list>
#include <map>

#include "comm/connection.h"
#include "comm/handshake.h"
#include "comm/mesh.h"
#include "comm/mpi_transport.h"
#include "comm/ring_link.h"
#include "comm/socket.h"

namespace thalweg::comm {
namespace {

using nlohmann::json;

constexpr int kSliceMilliseconds = 50;

/// Lists of ranks by host, each ordered, ordered by their first rank.
Hosts hosts_of(const View& view) {
  Hosts hosts;
  std::map<std::string, size_t> index;
  for (size_t rank = 0; rank < view.members.size(); ++rank) {
    const auto [entry, added] = index.emplace(view.members[rank].host, hosts.size());
    if (added) hosts.emplace_back();
    hosts[entry->second].push_back(static_cast<int>(rank));
  }
  return hosts;
}

/// Sets up the links of one member for one epoch.
class Builder {
 public:
  Builder(const View& view, int rank, const Listeners& listeners, const GroupOptions& options,
          std::shared_ptr<const MpiWorld> world, const Deadline& deadline)
      : view_(view),
        rank_(rank),
        listeners_(listeners),
        options_(options),
        deadline_(deadline),
        security_{options.secret, options.tls},
        local_security_{options.secret, false},
        hosts_(hosts_of(view)) {
    links_.resize(view.members.size());
    for (const auto& host : hosts_) {
      if (std::find(host.begin(), host.end(), rank) != host.end()) own_host_ = host;
    }
    self_ = static_cast<int>(std::find(own_host_.begin(), own_host_.end(), rank) - own_host_.begin());
    // On one host the rings in shared memory serve, which can be waited for.
    if (options.path != Path::kTcp && !options.tls && hosts_.size() > 1) world_ = std::move(world);
  }

  std::shared_ptr<Communicator> build(Status& status) {
    if (self_ == 0 && own_host_.size() > 1) area_ = SharedArea::create(static_cast<int>(own_host_.size()));
    for (int peer = 0; peer < rank_ && status.ok(); ++peer) {
      if (needs_socket(peer)) status = connect_to(peer);
    }
    if (status.ok() && self_ > 0) status = fetch_area(own_host_[0]);
    if (status.ok()) status = accept_peers();
    if (!status.ok()) return nullptr;
    std::unique_ptr<HostGroup> host;
    if (own_host_.size() > 1) host = std::make_unique<HostGroup>(area_, own_host_, self_);
    return std::make_shared<GroupCommunicator>(make_transport(), std::move(host), hosts_, options_.timeout);
  }

 private:
  std::shared_ptr<Transport> make_transport() {
    if (world_ != nullptr) {
      TW_REQUIRE(world_->rank() == rank_, "process ", world_->rank(), " of MPI has rank ", rank_, " in the group");
      return std::make_shared<MpiTransport>(world_);
    }
    if (own_host_.size() > 1) add_rings();
    return std::make_shared<Mesh>(rank_, std::move(links_), area_, self_);
  }
  bool needs_socket(int peer) const { return world_ == nullptr && !shares_host(peer); }
  bool shares_host(int peer) const { return std::find(own_host_.begin(), own_host_.end(), peer) != own_host_.end(); }
  const MemberInfo& info(int peer) const { return view_.members[static_cast<size_t>(peer)]; }

  Status trouble(int peer, const std::string& what) const {
    return Failure{deadline_.expired() ? FailureKind::kTimeout : FailureKind::kPeerLost, peer,
                   "connecting to " + info(peer).name + ": " + what, deadline_.elapsed()};
  }

  Status connect_to(int peer) {
    for (int stream = 0; stream < options_.streams; ++stream) {
      std::string error;
      FileDescriptor socket = connect_tcp(Address::parse(info(peer).address), deadline_, error);
      if (!socket.valid()) return trouble(peer, info(peer).address + ": " + error);
      std::unique_ptr<Link> link;
      if (Status status = introduce(peer, std::move(socket), security_, stream, link); !status) return status;
      links_[static_cast<size_t>(peer)].streams.push_back(std::move(link));
    }
    return {};
  }

  /// Shows the secret and says who this is, after which the link serves for other uses.
  Status introduce(int peer, FileDescriptor socket, const Security& security, int stream, std::unique_ptr<Link>& link) {
    std::string error;
    link = open_link(std::move(socket), security, deadline_, error);
    if (link == nullptr) return trouble(peer, error);
    Connection connection(std::move(link));
    const bool sent =
        connection.send_and_flush({{"epoch", view_.epoch}, {"rank", rank_}, {"stream", stream}}, deadline_);
    if (!sent) return trouble(peer, connection.error());
    link = connection.take_link();
    return {};
  }

  Status fetch_area(int leader) {
    std::string error;
    FileDescriptor socket = connect_local(info(leader).local, deadline_, error);
    if (!socket.valid()) return trouble(leader, error);
    std::unique_ptr<Link> link;
    if (Status status = introduce(leader, std::move(socket), local_security_, 0, link); !status) return status;
    FileDescriptor area = receive_descriptor(link->descriptor(), deadline_, error);
    if (!area.valid()) return trouble(leader, error);
    area_ = SharedArea::open(std::move(area), static_cast<int>(own_host_.size()));
    return {};
  }

  /// What is still missing: for each rank above, how many connections.
  std::map<int, int> expected_peers() const {
    std::map<int, int> missing;
    for (int peer = rank_ + 1; peer < static_cast<int>(view_.members.size()); ++peer) {
      if (needs_socket(peer)) missing[peer] = options_.streams;
      if (shares_host(peer) && self_ == 0) missing[peer] = 1;
    }
    return missing;
  }

  Status accept_peers() {
    std::map<int, int> missing = expected_peers();
    for (const auto& [peer, count] : missing) {
      if (!shares_host(peer)) links_[static_cast<size_t>(peer)].streams.resize(static_cast<size_t>(count));
    }
    std::list<Connection> strangers;
    while (!missing.empty()) {
      if (deadline_.expired()) return trouble(missing.begin()->first, "it did not connect");
      wait_for_any(strangers);
      accept_from(listeners_.tcp, security_, strangers);
      accept_from(listeners_.local, local_security_, strangers);
      for (auto stranger = strangers.begin(); stranger != strangers.end();) {
        const std::optional<json> hello = stranger->receive();
        if (hello) admit(*stranger, *hello, missing);
        stranger = hello || !stranger->error().empty() ? strangers.erase(stranger) : std::next(stranger);
      }
    }
    return {};
  }

  static void accept_from(const FileDescriptor& listener, const Security& security, std::list<Connection>& strangers) {
    for (FileDescriptor socket = accept_one(listener); socket.valid(); socket = accept_one(listener)) {
      strangers.emplace_back(std::move(socket), security);
    }
  }

  void wait_for_any(const std::list<Connection>& strangers) const {
    std::vector<pollfd> polled = {{listeners_.tcp.get(), POLLIN, 0}, {listeners_.local.get(), POLLIN, 0}};
    for (const Connection& stranger : strangers) polled.push_back({stranger.descriptor(), POLLIN, 0});
    ::poll(polled.data(), polled.size(), deadline_.poll_milliseconds(kSliceMilliseconds));
  }

  /// Takes a connection that has shown the secret, if it is one of those that are missing.
  void admit(Connection& connection, const json& hello, std::map<int, int>& missing) {
    const auto number = [&](const char* key) {
      const auto found = hello.find(key);
      return found != hello.end() && found->is_number_integer() ? found->get<int64_t>() : int64_t{-1};
    };
    const auto found = missing.find(static_cast<int>(number("rank")));
    const int64_t stream = number("stream");
    if (number("epoch") != static_cast<int64_t>(view_.epoch) || found == missing.end()) return;
    const int peer = found->first;
    if (shares_host(peer)) {
      std::string error;
      if (!send_descriptor(connection.descriptor(), area_->descriptor(), deadline_, error)) return;
    } else {
      auto& streams = links_[static_cast<size_t>(peer)].streams;
      if (stream < 0 || stream >= options_.streams || streams[static_cast<size_t>(stream)] != nullptr) return;
      streams[static_cast<size_t>(stream)] = connection.take_link();
    }
    if (--found->second == 0) missing.erase(found);
  }

  void add_rings() {
    for (size_t i = 0; i < own_host_.size(); ++i) {
      if (static_cast<int>(i) == self_) continue;
      links_[static_cast<size_t>(own_host_[i])].streams.push_back(
          std::make_unique<RingLink>(area_, self_, static_cast<int>(i)));
    }
  }

  const View& view_;
  int rank_;
  const Listeners& listeners_;
  const GroupOptions& options_;
  const Deadline& deadline_;
  Security security_;
  /// What goes through this host's own sockets and memory passes no wire.
  Security local_security_;
  Hosts hosts_;
  /// Set if messages go by MPI.
  std::shared_ptr<const MpiWorld> world_;
  /// Ranks on this host, of which this one is number `self_`.
  std::vector<int> own_host_;
  int self_ = 0;
  std::shared_ptr<SharedArea> area_;
  std::vector<PeerLinks> links_;
};

}  // namespace

std::string host_identity() {
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::string id;
  struct stat network {};
  const bool known = static_cast<bool>(boot >> id) && ::stat("/proc/self/ns/net", &network) == 0;
  try {
    SharedArea::create(1);
  } catch (const Error&) {
    return random_text(16);
  }
  return known ? id + "/" + std::to_string(network.st_ino) : random_text(16);
}

std::shared_ptr<Communicator> connect_members(const View& view, int rank, const Listeners& listeners,
                                              const GroupOptions& options, std::shared_ptr<const MpiWorld> world,
                                              const Deadline& deadline, Status& status) {
  return Builder(view, rank, listeners, options, std::move(world), deadline).build(status);
}

}  // namespace thalweg::comm
