// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/open_files.h"

#include "thalweg/error.h"

namespace thalweg::cli {
namespace {

/// What a worker prints comes by one, what it says to the rendezvous by another.
constexpr rlim_t kFilesPerWorker = 2;
/// For the program itself, and for those who connect and do not belong to the group.
constexpr rlim_t kOtherFiles = 64;

}  // namespace

rlimit allow_open_files_for(int workers) {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) return {RLIM_INFINITY, RLIM_INFINITY};
  const rlimit raised{before.rlim_max, before.rlim_max};
  const rlim_t allowed = ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : before.rlim_cur;
  const rlim_t needed = static_cast<rlim_t>(workers) * kFilesPerWorker + kOtherFiles;
  TW_REQUIRE(allowed >= needed, workers, " workers need ", needed, " open files, and this program may have ", allowed,
             ": raise the limit (ulimit -Hn) or start fewer");
  return before;
}

}  // namespace thalweg::cli
