// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <numeric>
#include <thread>

#include "comm/group_communicator.h"
#include "comm/mesh.h"
#include "comm/ring_link.h"
#include "comm/socket_pair.h"
#include "support/patience.h"

namespace thalweg::testing {

/// A socket that counts what is sent through it.
class CountingLink : public comm::SocketLink {
 public:
  CountingLink(comm::FileDescriptor socket, std::atomic<size_t>& sent) : SocketLink(std::move(socket)), sent_(sent) {}
  comm::IoResult write_some(std::span<const iovec> pieces) override {
    comm::IoResult result = SocketLink::write_some(pieces);
    sent_ += result.bytes;
    return result;
  }

 private:
  std::atomic<size_t>& sent_;
};

/// Members of a group as threads of this process. Those on one (pretended) host share memory, the others are connected
/// by sockets, `streams` for each pair, under TLS if asked for.
class LocalGroup {
 public:
  explicit LocalGroup(comm::Hosts hosts, int streams = 1, std::chrono::duration<double> timeout = patience(),
                      bool tls = false) {
    size_t size = 0;
    for (const auto& host : hosts) size += host.size();
    std::vector<std::vector<comm::PeerLinks>> links(size);
    for (auto& row : links) row.resize(size);
    std::vector<std::shared_ptr<comm::SharedArea>> areas(size);
    std::vector<int> member(size, 0);
    for (const auto& host : hosts) connect_host(host, links, areas, member);
    for (size_t a = 0; a < size; ++a) {
      for (size_t b = a + 1; b < size; ++b) {
        if (links[a][b].streams.empty()) connect_sockets(links[a][b], links[b][a], streams + 1, tls);
      }
    }
    for (size_t rank = 0; rank < size; ++rank) {
      comm::Lane lane = lane_of(static_cast<int>(rank), hosts, links[rank], areas[rank], member[rank]);
      auto mesh =
          std::make_shared<comm::Mesh>(static_cast<int>(rank), std::move(links[rank]), areas[rank], member[rank]);
      std::unique_ptr<comm::HostGroup> host;
      for (const auto& ranks : hosts) {
        const bool own = std::find(ranks.begin(), ranks.end(), static_cast<int>(rank)) != ranks.end();
        if (own && ranks.size() > 1) host = std::make_unique<comm::HostGroup>(areas[rank], ranks, member[rank]);
      }
      members_.push_back(std::make_unique<comm::GroupCommunicator>(mesh, std::move(host), hosts, timeout, lane));
    }
  }

  static comm::Hosts one_host(int size) {
    std::vector<int> all(static_cast<size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    return {all};
  }
  static comm::Hosts own_hosts(int size) {
    comm::Hosts result;
    for (int rank = 0; rank < size; ++rank) result.push_back({rank});
    return result;
  }

  comm::Communicator& member(int rank) { return *members_[static_cast<size_t>(rank)]; }
  /// What has been sent from one host to another, in bytes.
  size_t sent_between_hosts() const { return sent_; }
  /// Ends a member's connections, as if its process had ended.
  void remove(int rank) { members_[static_cast<size_t>(rank)].reset(); }

  /// Runs `body` for every member that is there, each on a thread of its own.
  void run(const std::function<void(comm::Communicator&)>& body) {
    std::vector<std::thread> threads;
    for (auto& communicator : members_) {
      if (communicator != nullptr) threads.emplace_back([&] { body(*communicator); });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  using Links = std::vector<std::vector<comm::PeerLinks>>;
  static void connect_host(const std::vector<int>& host, Links& links,
                           std::vector<std::shared_ptr<comm::SharedArea>>& areas, std::vector<int>& member) {
    if (host.size() < 2) return;
    const auto area = comm::SharedArea::create(static_cast<int>(host.size()));
    for (size_t a = 0; a < host.size(); ++a) {
      const auto rank = static_cast<size_t>(host[a]);
      areas[rank] = area;
      member[rank] = static_cast<int>(a);
      for (size_t b = 0; b < host.size(); ++b) {
        if (a == b) continue;
        links[rank][static_cast<size_t>(host[b])].streams.push_back(
            std::make_unique<comm::RingLink>(area, static_cast<int>(a), static_cast<int>(b)));
      }
    }
  }
  /// The messenger's links: the last socket to each peer, or a ring of its own.
  static comm::Lane lane_of(int rank, const comm::Hosts& hosts, std::vector<comm::PeerLinks>& links,
                            const std::shared_ptr<comm::SharedArea>& area, int member) {
    std::vector<std::unique_ptr<comm::Link>> own(links.size());
    std::vector<int> ranks(links.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    for (const auto& host : hosts) {
      const bool shared = std::find(host.begin(), host.end(), rank) != host.end();
      for (size_t i = 0; i < host.size(); ++i) {
        const auto peer = static_cast<size_t>(host[i]);
        if (host[i] == rank) continue;
        if (shared) {
          own[peer] = std::make_unique<comm::RingLink>(area, member, static_cast<int>(i), 1);
        } else {
          own[peer] = std::move(links[peer].streams.back());
          links[peer].streams.pop_back();
        }
      }
    }
    comm::Signal* doorbell = area != nullptr ? &area->doorbell(member, 1) : nullptr;
    return {std::make_shared<comm::Messenger>(rank, std::move(own), area, doorbell), 0,
            std::make_shared<const std::vector<int>>(ranks), rank, std::make_shared<comm::TrafficCounter>()};
  }
  void connect_sockets(comm::PeerLinks& a, comm::PeerLinks& b, int streams, bool tls) {
    for (int i = 0; i < streams; ++i) {
      SocketPair sockets;
      if (tls) {
        TlsPair pair(std::move(sockets));
        TW_REQUIRE(pair.shake_hands(), "no TLS");
        a.streams.push_back(std::move(pair.connecting));
        b.streams.push_back(std::move(pair.accepting));
      } else {
        a.streams.push_back(std::make_unique<CountingLink>(std::move(sockets.ours), sent_));
        b.streams.push_back(std::make_unique<CountingLink>(std::move(sockets.theirs), sent_));
      }
    }
  }

  std::atomic<size_t> sent_{0};
  std::vector<std::unique_ptr<comm::Communicator>> members_;
};

}  // namespace thalweg::testing
