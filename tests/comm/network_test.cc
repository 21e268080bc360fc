// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Two network name spaces, joined by a cable of 1 Gbit/s, stand for two hosts.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>

#include "support/child_process.h"
#include "support/patience.h"
#include "sync/plain_trainee.h"
#include "thalweg/comm.h"
#include "thalweg/sync.h"

namespace thalweg::testing {
namespace {

/// Of a model whose gradients are handed over one after the other, most of them large.
constexpr int64_t kParameters = 8;
constexpr int64_t kParameterFloats = 300'000;
constexpr const char* kAddress = "10.213.7.1:29517";

bool run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

/// Two name spaces with an interface each, "10.213.7.1" and "10.213.7.2".
class Cable {
 public:
  Cable() {
    made_ = run("ip netns add " + name(0)) && run("ip netns add " + name(1)) &&
            run("ip -n " + name(0) + " link add wire type veth peer name wire netns " + name(1));
    for (int end = 0; end < 2; ++end) {
      const std::string in = " -n " + name(end);
      made_ = made_ && run("ip" + in + " addr add 10.213.7." + std::to_string(end + 1) + "/24 dev wire") &&
              run("ip" + in + " link set wire up") && run("ip" + in + " link set lo up") &&
              run("tc" + in + " qdisc add dev wire root tbf rate 1gbit burst 256kb latency 50ms");
    }
  }
  ~Cable() {
    for (int end = 0; end < 2; ++end) run("ip netns del " + name(end));
  }
  Cable(const Cable&) = delete;
  Cable& operator=(const Cable&) = delete;

  bool made() const { return made_; }
  std::string name(int end) const { return "thalweg-" + std::to_string(::getpid()) + "-" + std::to_string(end); }

 private:
  bool made_ = false;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

void enter_name_space(const std::string& name) {
  const int descriptor = ::open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0) << name;
  ASSERT_EQ(::setns(descriptor, CLONE_NEWNET), 0) << name;
  ::close(descriptor);
}

/// A gradient that bf16 holds to the bit, and so do the sums of two.
float element(int rank, int64_t parameter, int64_t place) {
  return static_cast<float>((place + 3 * parameter) % 16) + static_cast<float>(rank);
}

/// Exchanges gradients as a scheme does for a trainer that has just computed them, and expects their sums.
void exchange_gradients(const std::shared_ptr<comm::Group>& group, const std::string& compression) {
  PlainTrainee trainee(std::vector<int64_t>(kParameters, kParameterFloats));
  const std::shared_ptr<Scheme> scheme = sync::make_scheme({.compression = compression}, group);
  scheme->start(trainee);
  std::vector<std::vector<float>> gradients(kParameters, std::vector<float>(kParameterFloats));
  for (int64_t i = 0; i < kParameters; ++i) {
    std::vector<float>& gradient = gradients[static_cast<size_t>(i)];
    for (int64_t k = 0; k < kParameterFloats; ++k) gradient[static_cast<size_t>(k)] = element(group->rank(), i, k);
    GradientView view{
        trainee.trained()[static_cast<size_t>(i)].variable, gradient.data(), gradient.size(), nullptr, nullptr, 0};
    view.own_memory = true;
    scheme->add_gradient(view, 1.0);
  }
  StepTotals totals;
  const Update sums = scheme->exchange(totals);
  ASSERT_EQ(sums.gradients.size(), gradients.size()) << "some gradients were not exchanged";
  for (const GradientView& sum : sums.gradients) {
    const auto i = static_cast<int64_t>(trainee.updater_index(sum.variable));
    ASSERT_EQ(sum.num_floats, static_cast<size_t>(kParameterFloats));
    for (int64_t k = 0; k < kParameterFloats; ++k) {
      ASSERT_EQ(sum.dense[k] * static_cast<float>(sums.scale), element(0, i, k) + element(1, i, k))
          << compression << ", " << k << " of gradient " << i;
    }
  }
}

/// What the process at each end runs.
TEST(NetworkEnd, DISABLED_Exchange) {
  const std::string space = variable("THALWEG_TEST_SPACE");
  ASSERT_FALSE(space.empty()) << "run by the tests of the network";
  enter_name_space(space);
  std::unique_ptr<comm::Rendezvous> rendezvous;
  if (!variable("THALWEG_TEST_HOSTS").empty()) {
    comm::RendezvousOptions options;
    options.address = kAddress;
    options.secret = "secret";
    options.min_size = options.max_size = 2;
    options.log = [](const std::string&) {};
    rendezvous = std::make_unique<comm::Rendezvous>(options);
  }
  comm::GroupOptions member;
  member.rendezvous = kAddress;
  member.secret = "secret";
  const std::shared_ptr<comm::Group> group = comm::Group::join(member);
  for (const char* compression : {"none", "bf16"}) exchange_gradients(group, compression);
  group->finish();
}

/// The member beside the rendezvous comes to it by loopback, the other one over the cable.
TEST(NetworkEnd, DISABLED_MeetsAtARendezvousBesideOneMember) {
  const std::string space = variable("THALWEG_TEST_SPACE");
  ASSERT_FALSE(space.empty()) << "run by the tests of the network";
  enter_name_space(space);
  const bool beside = !variable("THALWEG_TEST_HOSTS").empty();
  std::unique_ptr<comm::Rendezvous> rendezvous;
  if (beside) {
    comm::RendezvousOptions options;
    options.address = ":29518";
    options.secret = "secret";
    options.min_size = options.max_size = 2;
    options.log = [](const std::string&) {};
    rendezvous = std::make_unique<comm::Rendezvous>(options);
  }
  comm::GroupOptions member;
  member.rendezvous = beside ? "127.0.0.1:29518" : "10.213.7.1:29518";
  member.secret = "secret";
  // The higher rank connects to the lower one.
  member.seat = beside ? 0 : 1;
  member.form_timeout = patience();
  const auto group = comm::Group::join(member);
  double value = group->rank() + 1;
  group->communicator().all_reduce(&value, 1, DType::kF64).or_throw();
  EXPECT_EQ(value, 3);
  group->finish();
}

void run_both_ends(const Cable& cable, const std::string& test) {
  std::vector<ChildProcess> ends;
  for (int end = 0; end < 2; ++end) {
    ends.emplace_back("NetworkEnd.DISABLED_" + test,
                      std::map<std::string, std::string>{{"THALWEG_TEST_SPACE", cable.name(end)},
                                                         {"THALWEG_TEST_HOSTS", end == 0 ? "1" : ""}});
    EXPECT_TRUE(ends.back().started());
  }
  for (ChildProcess& end : ends) EXPECT_EQ(end.wait(), 0);
}

TEST(Network, AMemberBesideTheRendezvousIsReachedFromOtherHosts) {
  const Cable cable;
  if (!cable.made()) GTEST_SKIP() << "network name spaces cannot be made here";
  run_both_ends(cable, "MeetsAtARendezvousBesideOneMember");
}

TEST(Network, GradientsAreExchangedOverTheWire) {
  const Cable cable;
  if (!cable.made()) GTEST_SKIP() << "network name spaces cannot be made here";
  run_both_ends(cable, "Exchange");
}

}  // namespace
}  // namespace thalweg::testing
