// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/trial/network.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <sstream>

#include "base/text.h"
#include "cli/command.h"
#include "cli/worker_process.h"

namespace thalweg::cli {
namespace {

constexpr const char* kSubnet = "10.213.9.";
constexpr int kMiddle = 254;

std::string own_address(int host) { return kSubnet + std::to_string(host); }

/// A program and its arguments, none of which has a space in it.
void run(const std::string& command) {
  constexpr std::chrono::seconds kLimit{20};
  std::istringstream words(command);
  WorkerCommand started;
  started.arguments.assign(std::istream_iterator<std::string>(words), {});
  WorkerProcess process(started);
  const auto end = std::chrono::steady_clock::now() + kLimit;
  int status = 0;
  std::string said;
  const auto listen = [&](bool rest) {
    for (const std::string& line : process.lines(rest)) said += (said.empty() ? "" : "; ") + line;
  };
  while (!process.ended(status)) {
    TW_REQUIRE(std::chrono::steady_clock::now() < end, command, " takes more than ", kLimit.count(), " s");
    listen(false);
    ::poll(nullptr, 0, 1);
  }
  listen(true);
  TW_REQUIRE(status == 0, command, ": ", said.empty() ? describe_status(status) : said);
}

int open_own_space() {
  const int space = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  TW_REQUIRE(space >= 0, "cannot open the network of this process: ", std::strerror(errno));
  return space;
}

/// Into a new one, which is empty.
int make_space() {
  TW_REQUIRE(::unshare(CLONE_NEWNET) == 0, "cannot make a network: ", std::strerror(errno));
  const int space = open_own_space();
  run("ip link set lo up");
  return space;
}

std::string path_of(int space) { return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(space); }

bool is_there(const std::string& program) {
  for (const char* folder : {"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"}) {
    if (::access((folder + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

/// So that what leaves on `interface` does so at this rate.
void shape(const std::string& interface, double bits) {
  // What may pass at once: 5 ms' worth, so that messages of some size go at the rate.
  const double burst = std::clamp(bits / 8 * 0.005, 16e3, 1e6);
  run("tc qdisc add dev " + interface + " root tbf rate " + std::to_string(std::llround(bits)) + "bit burst " +
      std::to_string(std::llround(burst)) + " latency 50ms");
}

}  // namespace

double bits_per_second(const std::string& rate) {
  size_t end = 0;
  double number = 0;
  try {
    number = std::stod(rate, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::string unit = rate.substr(end);
  const double times = unit == "kbit" ? 1e3 : unit == "mbit" ? 1e6 : unit == "gbit" ? 1e9 : 0;
  const double bits = number * times;
  // tbf counts in 32 bits of bytes.
  if (end == 0 || !(bits >= 1e4 && bits <= 3e10)) {
    wrong_usage("--rate is ", printable(rate), ", must be from 10kbit to 30gbit, as in 100mbit");
  }
  return bits;
}

std::string why_no_networks() {
  if (::geteuid() != 0) return "that takes root's rights";
  for (const char* program : {"ip", "tc"}) {
    if (!is_there(program)) return std::string("the program ") + program + " is missing (Debian: iproute2)";
  }
  return "";
}

ShapedNetwork::ShapedNetwork(int workers, double bits) : bits_per_second_(bits), before_(open_own_space()) {
  try {
    middle_ = make_space();
    run("ip link add hub type bridge");
    run("ip addr add " + address() + "/24 dev hub");
    run("ip link set hub up");
    for (int worker = 0; worker < workers; ++worker) add_end(worker);
  } catch (...) {
    ::setns(before_, CLONE_NEWNET);
    for (const int space : ends_) ::close(space);
    if (middle_ >= 0) ::close(middle_);
    ::close(before_);
    throw;
  }
}

ShapedNetwork::~ShapedNetwork() {
  ::setns(before_, CLONE_NEWNET);
  for (const int space : ends_) ::close(space);
  ::close(middle_);
  ::close(before_);
}

void ShapedNetwork::enter(int space) const {
  TW_REQUIRE(::setns(space, CLONE_NEWNET) == 0, "cannot enter a network: ", std::strerror(errno));
}

void ShapedNetwork::add_end(int worker) {
  const std::string here = "cable" + std::to_string(worker);
  ends_.push_back(make_space());
  enter(middle_);
  // Larger packets than a real cable has would make the shaping coarse.
  run("ip link add " + here + " mtu 1500 type veth peer name cable mtu 1500 netns " + path_of(ends_.back()));
  run("ip link set " + here + " master hub");
  run("ip link set " + here + " up");
  shape(here, bits_per_second_);
  enter(ends_.back());
  run("ip addr add " + own_address(worker + 1) + "/24 dev cable");
  run("ip link set cable up");
  shape("cable", bits_per_second_);
  enter(middle_);
}

std::vector<std::string> ShapedNetwork::ends() const {
  std::vector<std::string> paths;
  for (const int space : ends_) paths.push_back(path_of(space));
  return paths;
}

std::string ShapedNetwork::address() { return own_address(kMiddle); }

}  // namespace thalweg::cli
