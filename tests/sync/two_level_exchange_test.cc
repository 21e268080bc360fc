// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "comm/local_group.h"
#include "sync/plain_trainee.h"
#include "sync/topology.h"

namespace thalweg::testing {
namespace {

constexpr int64_t kFloats = 60000;

/// Of members that are on hosts as a test says.
class OnHosts : public comm::Group {
 public:
  explicit OnHosts(comm::Communicator& communicator) : communicator_(communicator) {}
  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  uint64_t epoch() const override { return 1; }
  std::vector<std::string> names() const override { return std::vector<std::string>(static_cast<size_t>(size())); }
  comm::Communicator& communicator() override { return communicator_; }
  bool newcomers_waiting() const override { return false; }
  void next_epoch(const std::string& failure) override { raise("there is no other epoch: ", failure); }
  void set_status(const std::string& /*status*/) override {}
  void fail(const std::string& why) override { raise(why); }
  void finish() override {}
  bool hands_over() override { return false; }
  void handed_over() override {}

 private:
  comm::Communicator& communicator_;
};

/// What every member ends with when each brings gradients of its rank plus one, and owners add 100 to the sum.
struct Result {
  std::vector<float> values;
  size_t bytes_between_hosts = 0;
};
Result exchanged(const comm::Hosts& hosts, const std::string& ways, const std::string& compression = "none") {
  LocalGroup members(hosts);
  Result result;
  result.values.resize(members.member(0).size());
  members.run([&](comm::Communicator& communicator) {
    OnHosts group(communicator);
    const PlainTrainee names({kFloats});
    sync::GradientBuckets buckets(names.trained(), 1);
    const auto codes = sync::GradientExchange::make_carried(sync::make_compressor(compression, {}));
    codes->use(buckets, names.variables());
    codes->begin_step({0, group.rank(), group.size()});
    const auto owners = sync::topology(ways).make_for_owners(0);
    owners->place(group);
    const std::span<float> bucket = buckets.all()[0];
    std::fill(bucket.begin(), bucket.end(), static_cast<float>(group.rank() + 1));
    owners->collect(communicator, *codes, bucket).or_throw();
    for (const sync::Piece& piece : owners->own_pieces(group, buckets)) {
      for (float& value : piece.gradient) value += 100;
    }
    owners->hand_out(communicator, bucket).or_throw();
    for (const float value : bucket) EXPECT_NEAR(value, bucket[0], 1e-6);
    result.values[static_cast<size_t>(group.rank())] = bucket[0];
    owners->release();
  });
  result.bytes_between_hosts = members.sent_between_hosts();
  return result;
}

TEST(TwoLevelExchange, EverybodyEndsWithTheFlatResult) {
  for (const comm::Hosts& hosts : {comm::Hosts{{0, 1}, {2, 3}}, comm::Hosts{{0, 1, 2, 3}},
                                   comm::Hosts{{0}, {1, 3}, {2}}, comm::Hosts{{0}, {1}, {2}, {3}}}) {
    for (const float value : exchanged(hosts, "two levels").values) EXPECT_EQ(value, 110) << hosts.size() << " hosts";
  }
}

TEST(TwoLevelExchange, BetweenHostsTravelsNoMoreThanIfEachWereOneWorker) {
  const double whole = kFloats * sizeof(float);
  const auto two_levels = static_cast<double>(exchanged({{0, 1}, {2, 3}}, "two levels").bytes_between_hosts);
  const auto flat = static_cast<double>(exchanged(LocalGroup::own_hosts(4), "scatter-reduce").bytes_between_hosts);
  // Of n that each own a part: 2 (n - 1) / n of the parameters each, n times.
  EXPECT_NEAR(two_levels, 2 * whole, 0.05 * whole);
  EXPECT_NEAR(flat, 6 * whole, 0.05 * whole);
}

TEST(TwoLevelExchange, CodesTravelBetweenHosts) {
  const Result coded = exchanged({{0, 1}, {2, 3}}, "two levels", "bf16");
  for (const float value : coded.values) EXPECT_NEAR(value, 110, 0.1);
  const double whole = kFloats * sizeof(float);
  // Two codes of half the size, and the weights as they are.
  EXPECT_NEAR(static_cast<double>(coded.bytes_between_hosts), 2 * whole, 0.1 * whole);
  const Result signs = exchanged({{0, 1}, {2, 3}}, "two levels", "signsgd");
  for (const float value : signs.values) EXPECT_NEAR(value, 110, 0.1);
  EXPECT_LT(static_cast<double>(signs.bytes_between_hosts), 1.2 * whole);
}

}  // namespace
}  // namespace thalweg::testing
