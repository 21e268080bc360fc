// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What somebody sees who listens to the wire between the members of a group.
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <thread>

#include "comm/file_descriptor.h"
#include "comm/socket.h"
#include "thalweg/comm.h"

namespace thalweg::testing {
namespace {

constexpr size_t kPayloadBytes = 400000;
constexpr const char* kPayload = "0123-payload-of-the-tap-test-4567";
constexpr const char* kName = "a-member-of-the-tap-test";

/// Sees every packet of the loopback interface, and counts those that hold certain texts.
class Tap {
 public:
  explicit Tap(const std::vector<std::string>& texts) : socket_(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    if (!socket_.valid()) return;
    for (const std::string& text : texts) found_[text] = 0;
    // Other programs may keep the wire busy.
    const int room = 64 << 20U;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(::if_nametoindex("lo"));
    TW_REQUIRE(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
               "cannot listen to the loopback interface");
    thread_ = std::thread([this] { listen(); });
  }
  ~Tap() { stop(); }
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  bool works() const { return socket_.valid(); }
  void stop() {
    stop_.store(true);
    if (thread_.joinable()) thread_.join();
  }
  /// After `stop`.
  size_t bytes() const { return bytes_; }
  int found(const std::string& text) const { return found_.at(text); }

 private:
  void listen() {
    std::string packet(1U << 17U, '\0');
    bool more = true;
    while (more || !stop_.load()) {
      // patience: it is waited for again until the test is over
      more = comm::wait_ready(socket_.get(), false, Deadline(std::chrono::milliseconds(20)));
      const ssize_t count = more ? ::recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT) : 0;
      if (count <= 0) continue;
      bytes_ += static_cast<size_t>(count);
      for (auto& [text, times] : found_) {
        const auto end = packet.begin() + count;
        if (std::search(packet.begin(), end, text.begin(), text.end()) != end) ++times;
      }
    }
  }

  comm::FileDescriptor socket_;
  std::atomic<bool> stop_{false};
  size_t bytes_ = 0;
  std::map<std::string, int> found_;
  std::thread thread_;
};

/// Two members meet, and one sends the other the payload, over TCP.
void exchange(const std::string& secret, bool tls) {
  comm::RendezvousOptions options;
  options.secret = secret;
  options.tls = tls;
  options.min_size = options.max_size = 2;
  options.log = [](const std::string&) {};
  const comm::Rendezvous rendezvous(options);
  const auto member = [&] {
    comm::GroupOptions given;
    given.rendezvous = rendezvous.address();
    given.secret = secret;
    given.tls = tls;
    given.name = kName;
    given.path = comm::Path::kTcp;
    const auto group = comm::Group::join(given);
    std::string payload;
    while (payload.size() < kPayloadBytes) payload += kPayload;
    std::string received(payload.size(), '\0');
    const int peer = 1 - group->rank();
    group->communicator()
        .exchange(peer, payload.data(), payload.size(), peer, received.data(), received.size(), 1)
        .or_throw();
    EXPECT_EQ(received, payload);
    group->finish();
  };
  auto other = std::async(std::launch::async, member);
  member();
  other.get();
}

TEST(Tap, SeesThePayloadInClearButWithTlsNothing) {
  const std::string secret = comm::make_secret();
  for (const bool tls : {false, true}) {
    Tap tap({secret, kPayload, kName});
    if (!tap.works()) GTEST_SKIP() << "this user may not listen to the wire";
    exchange(secret, tls);
    tap.stop();
    EXPECT_GE(tap.bytes(), 2 * kPayloadBytes);
    EXPECT_EQ(tap.found(secret), 0);
    EXPECT_EQ(tap.found(kPayload) > 0, !tls);
    EXPECT_EQ(tap.found(kName) > 0, !tls);
  }
}

}  // namespace
}  // namespace thalweg::testing
