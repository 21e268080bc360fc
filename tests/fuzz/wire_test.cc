// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Damaged, cut and made-up streams of the protocol between members of a group.
#include <gtest/gtest.h>

#include <random>

#include "fuzz/wire_targets.h"

namespace thalweg {
namespace {

std::string message(uint64_t tag, const std::string& body) {
  const uint64_t header[] = {tag, body.size()};
  return std::string(reinterpret_cast<const char*>(header), sizeof header) + body;
}

std::string frame(const std::string& text) {
  const auto size = static_cast<uint32_t>(text.size());
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + text;
}

std::vector<std::string> message_seeds() {
  const uint64_t collective = uint64_t{1} << 32U;
  const std::string one = message(collective | 1U, std::string(16, 'a')), two = message(2, std::string(40, 'b'));
  return {"\x07" + one + two, "\x3f" + two + one, "\x01" + message(3, std::string(16, 'c')) + two + one,
          "\x10" + message(9, "") + one + message(9, std::string(1000, 'd')) + two};
}

std::vector<std::string> control_seeds() {
  const std::string member =
      R"({"type":"join","member":{"id":"a","name":"b","host":"c","address":"127.0.0.1:1","local":"d"}})";
  const std::string view =
      R"({"type":"view","view":{"epoch":3,"members":[{"id":"a","name":"b","host":"c","address":"h:1","local":"d"}]}})";
  return {"\x01" + frame(member) + frame(view), "\x01" + frame("[]") + frame("{}") + frame("null"),
          "\x02" + std::string(200, '\0'), "\x02GET / HTTP/1.1\r\n\r\n"};
}

/// Bytes of a seed replaced, removed, repeated, or cut off; sometimes those that are lengths get large.
std::string damaged(std::string bytes, std::mt19937& random) {
  const auto below = [&](size_t bound) { return bound == 0 ? 0 : random() % bound; };
  for (size_t i = 0, edits = 1 + below(6); i < edits && !bytes.empty(); ++i) {
    const size_t at = below(bytes.size());
    switch (below(5)) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes.erase(at, 1 + below(20)); break;
      case 2: bytes.insert(at, bytes.substr(below(bytes.size()), below(40))); break;
      case 3: bytes[at] = static_cast<char>(below(2) == 0 ? 0xFF : 0x7F); break;
      default: bytes.resize(at); break;
    }
  }
  return bytes;
}

void attack(const std::vector<std::string>& seeds, void (*target)(std::string_view), int rounds) {
  std::mt19937 random(17);
  for (const std::string& seed : seeds) {
    EXPECT_NO_THROW(target(seed));
    for (size_t cut = 0; cut < seed.size(); ++cut) EXPECT_NO_THROW(target(std::string_view(seed).substr(0, cut)));
    for (int i = 0; i < rounds; ++i) {
      const std::string bytes = damaged(seed, random);
      EXPECT_NO_THROW(target(bytes)) << "round " << i;
    }
  }
}

TEST(WireFuzz, Messages) { attack(message_seeds(), fuzz::read_messages, 2000); }
TEST(WireFuzz, ControlMessages) { attack(control_seeds(), fuzz::read_control, 1000); }

}  // namespace
}  // namespace thalweg
