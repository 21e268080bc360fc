// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/cgroup.h"

#include <gtest/gtest.h>

#include "support/temporary_directory.h"

namespace thalweg::testing {
namespace {

/// Files such as a system with control groups would have.
class Groups {
 public:
  void add(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = directory_.path() / path;
    std::filesystem::create_directories(whole.parent_path());
    write_bytes(whole, text);
  }
  CgroupLimits limits() const { return cgroup_limits(directory_ / "fs", directory_ / "membership"); }

 private:
  TemporaryDirectory directory_;
};

TEST(Cgroup, NoneAreNoLimit) {
  const CgroupLimits limits = Groups().limits();
  EXPECT_EQ(limits.version, 0);
  EXPECT_EQ(limits.processors, 0);
  EXPECT_EQ(limits.memory_bytes, 0);
}

TEST(Cgroup, Version2TakesTheStrictestOfAllLevels) {
  Groups groups;
  groups.add("membership", "0::/system.slice/job.service\n");
  groups.add("fs/cgroup.controllers", "cpu memory\n");
  groups.add("fs/system.slice/cpu.max", "150000 100000\n");
  groups.add("fs/system.slice/memory.max", "max\n");
  groups.add("fs/system.slice/job.service/cpu.max", "max 100000\n");
  groups.add("fs/system.slice/job.service/memory.max", "1073741824\n");
  const CgroupLimits limits = groups.limits();
  EXPECT_EQ(limits.version, 2);
  EXPECT_EQ(limits.processors, 1.5);
  EXPECT_EQ(limits.memory_bytes, int64_t{1} << 30);
}

TEST(Cgroup, AContainerSeesItsOwnGroupAsTheRoot) {
  Groups groups;
  groups.add("membership", "0::/../../somewhere/else\n");
  groups.add("fs/cpu.max", "200000 100000\n");
  groups.add("somewhere/else/cpu.max", "1 100000\n");
  EXPECT_EQ(groups.limits().processors, 2.0);
}

TEST(Cgroup, Version1HasAGroupForEachController) {
  Groups groups;
  groups.add("membership", "5:memory:/job\n3:cpu,cpuacct:/docker/unseen\n");
  groups.add("fs/cpu/cpu.cfs_quota_us", "50000\n");
  groups.add("fs/cpu/cpu.cfs_period_us", "100000\n");
  groups.add("fs/memory/memory.limit_in_bytes", "9223372036854771712\n");
  groups.add("fs/memory/job/memory.limit_in_bytes", "4096\n");
  const CgroupLimits limits = groups.limits();
  EXPECT_EQ(limits.version, 1);
  EXPECT_EQ(limits.processors, 0.5);
  EXPECT_EQ(limits.memory_bytes, 4096);
}

TEST(Cgroup, NonsenseIsNoLimit) {
  Groups groups;
  groups.add("membership", "nonsense\n:::\n");
  groups.add("fs/cpu.max", "-1 0\n");
  groups.add("fs/memory.max", "many\n");
  EXPECT_EQ(groups.limits().processors, 0);
  EXPECT_EQ(groups.limits().memory_bytes, 0);
}

}  // namespace
}  // namespace thalweg::testing
