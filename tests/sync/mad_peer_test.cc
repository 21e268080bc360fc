// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Workers that belong to the group and send sizes that make no sense: errors that name them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/local_group.h"
#include "support/error_text.h"
#include "sync/row_exchange.h"
#include "sync/sparse_exchange.h"
#include "sync/state_transfer.h"

namespace thalweg::testing {
namespace {

using comm::Communicator;
using ::testing::HasSubstr;

/// What rank 0 says is wrong when rank 1 is mad.
std::string error_beside(const std::function<void(Communicator&)>& mad,
                         const std::function<comm::Status(Communicator&)>& sane) {
  LocalGroup group(LocalGroup::own_hosts(2));
  std::string text;
  group.run([&](Communicator& member) {
    if (member.rank() == 1) {
      mad(member);
    } else {
      text = error_text([&] { sane(member).or_throw(); });
    }
  });
  return text;
}

/// Rank 1 sends the description of a state.
std::string error_of_state(const std::string& description) {
  return error_beside(
      [&](Communicator& member) {
        uint64_t size = description.size();
        std::string text = description;
        member.broadcast(&size, sizeof size, 1).or_throw();
        member.broadcast(text.data(), size, 1).or_throw();
      },
      [](Communicator& member) {
        Checkpoint snapshot;
        return sync::broadcast_snapshot(member, 1, snapshot);
      });
}

std::string state_with_shapes(const std::string& weights, const std::string& optimizer) {
  const auto entry = [](const std::string& shape) {
    return shape.empty() ? "" : R"({"name": "w", "dtype": "f32", "shape": )" + shape + "}";
  };
  return R"({"iteration": 1, "trainer": "{}", "weights": [)" + entry(weights) + R"(], "optimizer": [)" +
         entry(optimizer) + R"(], "best": []})";
}

TEST(MadPeer, AStateThatFitsIntoNoMachineIsRefused) {
  EXPECT_THAT(error_of_state(state_with_shapes("[1000000, 1000000, 1000]", "")),
              HasSubstr("the state of rank 1 cannot be taken over: with 'w' of shape [1000000,1000000,1000] it is more "
                        "than the"));
  EXPECT_THAT(error_of_state(state_with_shapes("[5]", "[4611686018427387903]")), HasSubstr("the state of rank 1"));
  EXPECT_THAT(error_of_state(state_with_shapes("[9223372036854775807, 2]", "")), HasSubstr("the state of rank 1"));
  EXPECT_THAT(error_of_state(state_with_shapes("[-3]", "")), HasSubstr("the state of rank 1"));
}

TEST(MadPeer, AStateThatIsNoneIsRefused) {
  EXPECT_THAT(error_of_state("[1, 2"), HasSubstr("the description of the state of rank 1 cannot be read"));
  EXPECT_THAT(error_of_state("{}"), HasSubstr("rank 1"));
}

TEST(MadPeer, ADescriptionOfAStateHasALimit) {
  const std::string text = error_beside(
      [](Communicator& member) {
        uint64_t size = uint64_t{1} << 60U;
        member.broadcast(&size, sizeof size, 1).or_throw();
      },
      [](Communicator& member) {
        Checkpoint snapshot;
        return sync::broadcast_snapshot(member, 1, snapshot);
      });
  EXPECT_THAT(text, HasSubstr("the description of the state of rank 1 is 1048576.0 TiB long, at most 64.0 MiB"));
}

std::shared_ptr<data::RowStore> numbered_rows(int64_t count) {
  data::RowField field;
  field.name = "x";
  field.type = {DType::kF32, {1}};
  auto rows = std::make_shared<data::RowStore>(std::vector<data::RowField>{field});
  const std::vector<float> values(static_cast<size_t>(count), 1.0F);
  rows->append({count, {{std::as_bytes(std::span(values))}}});
  return rows;
}

/// Rank 1 claims to have so many rows, of which it should send some, and sends `messages`.
std::string error_of_rows(int64_t claimed, const std::vector<std::vector<std::byte>>& messages,
                          uint64_t announced = 0) {
  constexpr uint32_t kRowsTag = 0x524f5753;
  return error_beside(
      [&](Communicator& member) {
        for (int i = 0; i < 2; ++i) {
          int64_t counts[2] = {0, claimed};
          member.all_gather(counts, 2, DType::kI64).or_throw();
        }
        if (announced > 0) member.send(0, kRowsTag, &announced, sizeof announced).or_throw();
        for (const auto& message : messages) {
          const uint64_t size = message.size();
          member.send(0, kRowsTag, &size, sizeof size).or_throw();
          member.send(0, kRowsTag, message.data(), size).or_throw();
        }
      },
      [](Communicator& member) { return sync::RowExchange(numbered_rows(0)).settle(member, 2); });
}

std::vector<std::byte> packed_rows(int64_t count) { return numbered_rows(count)->pack(0, count, 1 << 20); }

TEST(MadPeer, NumbersOfRowsHaveLimits) {
  EXPECT_THAT(error_of_rows(-4, {}), HasSubstr("rank 1 claims to have -4 rows"));
  EXPECT_THAT(error_of_rows(int64_t{1} << 62U, {}), HasSubstr("rank 1 claims to have 4611686018427387904 rows"));
}

TEST(MadPeer, RowsThatAreAnnouncedHaveALimit) {
  EXPECT_THAT(error_of_rows(4, {}, uint64_t{1} << 50U),
              HasSubstr("rank 1 announced 1024.0 TiB of rows, at most 1.0 GiB are taken at once"));
}

TEST(MadPeer, RowsThatCannotBeTakenNameTheSender) {
  EXPECT_THAT(error_of_rows(4, {std::vector<std::byte>(100, std::byte{0xff})}),
              HasSubstr("rank 1 sent rows that cannot be taken: "));
  EXPECT_THAT(error_of_rows(4, {packed_rows(3)}), HasSubstr("rank 1 sent 3 rows where 1 to 2 are expected"));
  // No rows, in a column of no bytes.
  EXPECT_THAT(error_of_rows(4, {std::vector<std::byte>(2 * sizeof(uint64_t))}),
              HasSubstr("rank 1 sent 0 rows where 1 to 2 are expected"));
  EXPECT_EQ(error_of_rows(4, {packed_rows(1), packed_rows(1)}), "no error");
}

/// Rank 1 announces so many rows of a table of 5, and sends their numbers.
std::string error_of_gradient(int64_t announced, const std::vector<int64_t>& indices) {
  return error_beside(
      [&](Communicator& member) {
        int64_t counts[2] = {0, announced};
        member.all_gather(counts, 2, DType::kI64).or_throw();
        if (indices.empty()) return;
        // Both parts have the length of the longest.
        std::vector<int64_t> all(2 * indices.size());
        std::copy(indices.begin(), indices.end(), all.begin() + static_cast<int64_t>(indices.size()));
        member.all_gather(all.data(), all.size(), DType::kI64).or_throw();
      },
      [](Communicator& member) {
        sync::SparseRows rows{0, 2, 5, {3}, {0.5F, 0.5F}};
        return sync::SparseExchange(DType::kF32).gather(member, rows);
      });
}

TEST(MadPeer, RowsOfAGradientHaveLimits) {
  EXPECT_THAT(error_of_gradient(-1, {}),
              HasSubstr("rank 1: it announced the gradients of -1 rows of a table that has 5"));
  EXPECT_THAT(error_of_gradient(int64_t{1} << 61U, {}), HasSubstr("rank 1: it announced the gradients of 2305843"));
  EXPECT_THAT(error_of_gradient(2, {0, 5}), HasSubstr("rank 1: it sent a gradient of row 5 of a table that has 5"));
  EXPECT_THAT(error_of_gradient(2, {-1, 0}), HasSubstr("rank 1: it sent a gradient of row -1 of a table that has 5"));
}

}  // namespace
}  // namespace thalweg::testing
