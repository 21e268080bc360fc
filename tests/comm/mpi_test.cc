// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Groups whose messages go by MPI: this program once more, as processes that mpirun starts.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "comm/mpi_member.h"
#include "comm/mpi_world.h"
#include "support/error_text.h"
#include "support/mpirun.h"

namespace thalweg::testing {
namespace {

using comm::Communicator;
using ::testing::HasSubstr;

// What each process runs.

/// One member keeps away from an operation.
TEST(MpiEnd, DISABLED_WaitsForOneThatDoesNotCome) {
  Communicator& member = MpiMember::group().communicator();
  // At its end this one waits for the other.
  if (member.rank() == 1) return;
  member.set_timeout(std::chrono::milliseconds(500));
  std::vector<float> values(1000);
  const comm::Status status = member.receive(1, 3, values.data(), values.size() * sizeof(float));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.failure().kind, comm::FailureKind::kTimeout);
  EXPECT_EQ(status.failure().peer, 1);
  EXPECT_THAT(status.failure().text(), HasSubstr("receiving 3.9 KiB: no progress"));
  EXPECT_FALSE(member.barrier().ok()) << "a failure stays";
}

TEST(MpiEnd, DISABLED_IsToldOfAnotherSize) {
  Communicator& member = MpiMember::group().communicator();
  std::vector<std::byte> data(100);
  if (member.rank() == 1) {
    EXPECT_TRUE(member.send(0, 3, data.data(), 60).ok());
    return;
  }
  const comm::Status status = member.receive(1, 3, data.data(), data.size());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.failure().kind, comm::FailureKind::kProtocol);
  EXPECT_THAT(status.failure().text(), HasSubstr("it sent a message of 60 bytes where 100 are expected"));
}

TEST(MpiEnd, DISABLED_IsAborted) {
  Communicator& member = MpiMember::group().communicator();
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    member.abort("enough");
  });
  const comm::Status status = member.receive(1 - member.rank(), 3, nullptr, 0);
  other.join();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.failure().kind, comm::FailureKind::kGroupChanged);
}

/// One process is killed, and mpirun told to let the others live.
TEST(MpiEnd, DISABLED_LosesOne) {
  comm::Group& group = MpiMember::group();
  if (group.rank() == 1) std::raise(SIGKILL);
  double value = 1;
  const comm::Status status = group.communicator().all_reduce(&value, 1, DType::kF64);
  ASSERT_FALSE(status.ok());
  const std::string error = error_text([&] { group.next_epoch(status.failure().text()); });
  EXPECT_THAT(error, HasSubstr("cannot go on"));
  EXPECT_THAT(error, HasSubstr("rank 1"));
  EXPECT_THAT(error, HasSubstr("Start the job again"));
  std::printf("told of the loss\n");
}

/// The first process can open no sockets, and so no place to meet.
TEST(MpiEnd, DISABLED_CannotMeet) {
  const comm::MpiWorld world;
  // So that MPI has opened what it needs.
  ASSERT_EQ(world.broadcast(world.rank() == 0 ? "ready" : ""), "ready");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  if (world.rank() == 0) {
    const int first_free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(first_free);
    const rlimit none{static_cast<rlim_t>(first_free), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  const std::string error = error_text([] { comm::join_launched(); });
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(error, HasSubstr("process 0 of mpirun's cannot open a place for all to meet: cannot listen at"));
  EXPECT_THAT(error, HasSubstr("Too many open files"));
  std::printf("rank %d was told\n", world.rank());
}

#ifdef TW_MPIRUN

ProcessResult run_ends(int processes, const std::string& filter, const std::vector<std::string>& options = {}) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  return mpirun(
      TW_MPIRUN, processes,
      {program, "--gtest_also_run_disabled_tests", "--gtest_brief=1", "--gtest_color=no", "--gtest_filter=" + filter},
      options);
}

TEST(Mpi, CarriesCollectivesAndChannels) {
  for (const int processes : {2, 3, 4}) {
    const ProcessResult run = run_ends(processes, "*/Collectives.*:*/Channels.*:*/Subgroups.*");
    EXPECT_EQ(run.exit_code, 0) << run.out << run.error;
    EXPECT_THAT(run.out, HasSubstr("[  PASSED  ]")) << run.error;
  }
}

class MpiFailures : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, MpiFailures,
                         ::testing::Values("WaitsForOneThatDoesNotCome", "IsToldOfAnotherSize", "IsAborted"),
                         [](const auto& test) { return test.param; });

TEST_P(MpiFailures, AreValuesThatNameThePeer) {
  // A process that ends after a failure does so without MPI's consent, which mpirun reports as an error of its own.
  const ProcessResult run = run_ends(2, std::string("MpiEnd.DISABLED_") + GetParam());
  EXPECT_THAT(run.out, HasSubstr("[  PASSED  ] 1 test")) << run.error;
  EXPECT_EQ(run.out.find("Failure"), std::string::npos) << run.out;
}

TEST(Mpi, AFirstProcessThatCannotOpenAPlaceToMeetTellsTheOthers) {
  const ProcessResult run = run_ends(2, "MpiEnd.DISABLED_CannotMeet", {"--timeout", "60"});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.error;
  EXPECT_THAT(run.out, HasSubstr("rank 1 was told")) << run.error;
}

TEST(Mpi, ALostProcessEndsTheOthersWithAnError) {
  const ProcessResult run = run_ends(3, "MpiEnd.DISABLED_LosesOne", {"--enable-recovery"});
  EXPECT_THAT(run.out, HasSubstr("told of the loss")) << run.error;
  EXPECT_EQ(run.out.find("Failure"), std::string::npos) << run.out;
}

#endif

TEST(MpiPath, NeedsMpirun) {
  if (under_mpirun()) GTEST_SKIP();
  EXPECT_THAT(error_text([] { comm::join_launched({.path = comm::Path::kMpi}); }), HasSubstr("mpirun has not started"));
  comm::RendezvousOptions meeting;
  meeting.secret = "secret";
  const comm::Rendezvous rendezvous(meeting);
  comm::GroupOptions member;
  member.rendezvous = rendezvous.address();
  member.secret = "secret";
  member.path = comm::Path::kMpi;
  EXPECT_THAT(error_text([&] { comm::Group::join(member); }),
              HasSubstr("only among processes that mpirun has started"));
}

}  // namespace
}  // namespace thalweg::testing
