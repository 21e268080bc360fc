// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/mesh_builder.h"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <list>
#include <map>
#include <numeric>

#include "comm/connection.h"
#include "comm/handshake.h"
#include "comm/mesh.h"
#include "comm/mpi_link.h"
#include "comm/mpi_transport.h"
#include "comm/ring_link.h"
#include "comm/socket.h"
#include "comm/strangers.h"

namespace thalweg::comm {
namespace {

using nlohmann::json;

constexpr int kSliceMilliseconds = 50;
/// Of the rings in shared memory.
constexpr int kMessengerLane = 1;

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

bool leads_home_only(const std::string& address) { return is_loopback(Address::parse(address).host); }

/// Somebody who has connected to this member and has not said who it is.
struct Stranger {
  Connection connection;
  /// For messages.
  std::string peer;
  std::chrono::steady_clock::time_point came;
};

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
    Lane lane = make_lane();
    return std::make_shared<GroupCommunicator>(make_transport(), std::move(host), hosts_, options_.timeout, lane);
  }

 private:
  /// Connections to each peer on another host: the last is the messenger's.
  int connections() const { return options_.streams + 1; }

  /// Takes the links that are the messenger's out of the others.
  Lane make_lane() {
    std::vector<std::unique_ptr<Link>> links;
    std::vector<int> ranks;
    for (int peer = 0; peer < static_cast<int>(links_.size()); ++peer) {
      ranks.push_back(peer);
      auto& streams = links_[static_cast<size_t>(peer)].streams;
      if (peer == rank_) {
        links.push_back(nullptr);
      } else if (shares_host(peer)) {
        const auto place = std::find(own_host_.begin(), own_host_.end(), peer) - own_host_.begin();
        links.push_back(std::make_unique<RingLink>(area_, self_, static_cast<int>(place), kMessengerLane));
      } else if (world_ != nullptr) {
        links.push_back(std::make_unique<MpiLink>(world_, peer));
      } else {
        links.push_back(std::move(streams.back()));
        streams.pop_back();
      }
    }
    Signal* doorbell = area_ != nullptr ? &area_->doorbell(self_, kMessengerLane) : nullptr;
    return {std::make_shared<Messenger>(rank_, std::move(links), area_, doorbell), 0,
            std::make_shared<const std::vector<int>>(ranks), rank_, std::make_shared<TrafficCounter>()};
  }

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
    const MemberInfo& other = info(peer);
    // It lives beside the rendezvous and came to it by loopback, which this member did not.
    const bool elsewhere = leads_home_only(other.address) && !leads_home_only(info(rank_).address);
    const std::string& address = elsewhere && !other.outside.empty() ? other.outside : other.address;
    const auto connect = [&](std::string& error) {
      FileDescriptor socket = connect_tcp(Address::parse(address), deadline_, error);
      if (socket.valid()) return socket;
      error = address + ": " + error;
      if (elsewhere) error += " (if that does not lead to its host from here, set GroupOptions::address there)";
      return socket;
    };
    for (int stream = 0; stream < connections(); ++stream) {
      std::unique_ptr<Link> link;
      if (Status status = introduce(peer, connect, security_, stream, link); !status) return status;
      links_[static_cast<size_t>(peer)].streams.push_back(std::move(link));
    }
    return {};
  }

  /// Connects, shows the secret and says who this is, after which the link serves for other uses.
  Status introduce(int peer, const std::function<FileDescriptor(std::string& error)>& connect, const Security& security,
                   int stream, std::unique_ptr<Link>& link) {
    std::string error;
    link = connect_link(connect, security, deadline_, error);
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
    const auto connect = [&](std::string& why) { return connect_local(info(leader).local, deadline_, why); };
    std::unique_ptr<Link> link;
    if (Status status = introduce(leader, connect, local_security_, 0, link); !status) return status;
    FileDescriptor area = receive_descriptor(link->descriptor(), deadline_, error);
    if (!area.valid()) return trouble(leader, error);
    area_ = SharedArea::open(std::move(area), static_cast<int>(own_host_.size()));
    return {};
  }

  /// What is still missing: for each rank above, how many connections.
  std::map<int, int> expected_peers() const {
    std::map<int, int> missing;
    for (int peer = rank_ + 1; peer < static_cast<int>(view_.members.size()); ++peer) {
      if (needs_socket(peer)) missing[peer] = connections();
      if (shares_host(peer) && self_ == 0) missing[peer] = 1;
    }
    return missing;
  }

  Status accept_peers() {
    std::map<int, int> missing = expected_peers();
    for (const auto& [peer, count] : missing) {
      if (!shares_host(peer)) links_[static_cast<size_t>(peer)].streams.resize(static_cast<size_t>(count));
    }
    const auto add = [](size_t sum, const auto& peer) { return sum + static_cast<size_t>(peer.second); };
    const size_t most = most_strangers(std::accumulate(missing.begin(), missing.end(), size_t{0}, add));
    std::list<Stranger> strangers;
    while (!missing.empty()) {
      if (deadline_.expired()) return trouble(missing.begin()->first, "it did not connect");
      wait_for_any(strangers);
      accept_from(listeners_.tcp, security_, most, strangers);
      accept_from(listeners_.local, local_security_, most, strangers);
      strangers.remove_if([&](Stranger& stranger) { return is_settled(stranger, missing); });
      give_up_excess(strangers, most);
    }
    return {};
  }

  static void accept_from(const FileDescriptor& listener, const Security& security, size_t most,
                          std::list<Stranger>& strangers) {
    for (size_t count = 0; count < most; ++count) {
      FileDescriptor socket = accept_one(listener);
      if (!socket.valid()) return;
      std::string peer = peer_address(socket);
      strangers.push_back({Connection(std::move(socket), security), std::move(peer), std::chrono::steady_clock::now()});
    }
  }

  void wait_for_any(const std::list<Stranger>& strangers) const {
    std::vector<pollfd> polled = {{listeners_.tcp.get(), POLLIN, 0}, {listeners_.local.get(), POLLIN, 0}};
    for (const Stranger& stranger : strangers) polled.push_back({stranger.connection.descriptor(), POLLIN, 0});
    ::poll(polled.data(), polled.size(), deadline_.poll_milliseconds(kSliceMilliseconds));
  }

  /// True once it is known who the stranger is: a peer, whose connection has been taken, or somebody who is refused.
  bool is_settled(Stranger& stranger, std::map<int, int>& missing) {
    const std::optional<json> hello = stranger.connection.receive();
    std::string why = hello ? admit(stranger.connection, *hello, missing) : stranger.connection.error();
    if (!hello && why.empty()) {
      why = reason_if_silent(std::chrono::steady_clock::now() - stranger.came, kIntroduction);
    }
    if (!why.empty()) log("refused " + stranger.peer + ": " + why);
    return hello || !why.empty();
  }

  void log(const std::string& text) const {
    if (options_.log) return options_.log(text);
    std::fprintf(stderr, "thalweg: %s: %s\n", info(rank_).name.c_str(), text.c_str());
  }

  /// Takes a connection that has shown the secret, if it is one of those that are missing. Returns why not if that is
  /// odd: who comes from another epoch has only not learned yet that the group changes.
  std::string admit(Connection& connection, const json& hello, std::map<int, int>& missing) {
    const auto number = [&](const char* key) {
      const auto found = hello.find(key);
      return found != hello.end() && found->is_number_integer() ? found->get<int64_t>() : int64_t{-1};
    };
    if (number("epoch") != static_cast<int64_t>(view_.epoch)) return "";
    const int64_t rank = number("rank"), stream = number("stream");
    const auto found =
        std::find_if(missing.begin(), missing.end(), [&](const auto& peer) { return peer.first == rank; });
    if (found == missing.end()) return "no connection of rank " + std::to_string(rank) + " is missing";
    if (shares_host(found->first)) {
      std::string error;
      if (!send_descriptor(connection.descriptor(), area_->descriptor(), deadline_, error)) return error;
    } else {
      auto& streams = links_[static_cast<size_t>(rank)].streams;
      const bool free = stream >= 0 && stream < connections() && streams[static_cast<size_t>(stream)] == nullptr;
      if (!free) return "stream " + std::to_string(stream) + " of rank " + std::to_string(rank) + " is not missing";
      streams[static_cast<size_t>(stream)] = connection.take_link();
    }
    if (--found->second == 0) missing.erase(found);
    return "";
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
