// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/shared_area.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "thalweg/error.h"

namespace thalweg::comm {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kPage = 4096;

struct Offsets {
  size_t doorbells = 0;
  size_t slots = 0;
  size_t rings = 0;
  size_t end = 0;
};

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

Offsets offsets_for(int members) {
  const auto n = static_cast<size_t>(members);
  Offsets result;
  result.doorbells = n * sizeof(HostProgress);
  result.slots = whole_pages(result.doorbells + SharedArea::kLanes * n * kLine);
  result.rings = result.slots + n * SharedArea::kBuffers * SharedArea::kSlotBytes;
  result.end = whole_pages(result.rings + SharedArea::kLanes * n * n * sizeof(RingMemory));
  return result;
}

}  // namespace

std::shared_ptr<SharedArea> SharedArea::create(int members) {
  FileDescriptor descriptor(::memfd_create("thalweg-group", MFD_CLOEXEC));
  TW_REQUIRE(descriptor.valid(), "cannot make memory that processes share: ", std::strerror(errno));
  const auto bytes = static_cast<off_t>(offsets_for(members).end);
  TW_REQUIRE(::ftruncate(descriptor.get(), bytes) == 0, "cannot reserve ", bytes,
             " bytes that processes share: ", std::strerror(errno));
  return std::shared_ptr<SharedArea>(new SharedArea(std::move(descriptor), members));
}

std::shared_ptr<SharedArea> SharedArea::open(FileDescriptor descriptor, int members) {
  struct stat info {};
  const size_t expected = offsets_for(members).end;
  TW_REQUIRE(::fstat(descriptor.get(), &info) == 0 && static_cast<size_t>(info.st_size) == expected,
             "the shared memory that a peer handed over has ", info.st_size, " bytes where ", expected,
             " are needed for ", members, " members");
  return std::shared_ptr<SharedArea>(new SharedArea(std::move(descriptor), members));
}

SharedArea::SharedArea(FileDescriptor descriptor, int members) : descriptor_(std::move(descriptor)), members_(members) {
  void* memory = ::mmap(nullptr, offsets_for(members).end, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                        descriptor_.get(), 0);
  TW_REQUIRE(memory != MAP_FAILED, "cannot map memory that processes share: ", std::strerror(errno));
  memory_ = static_cast<std::byte*>(memory);
}

SharedArea::~SharedArea() { ::munmap(memory_, offsets_for(members_).end); }

HostProgress& SharedArea::progress(int member) {
  return reinterpret_cast<HostProgress*>(memory_)[static_cast<size_t>(member)];
}

Signal& SharedArea::doorbell(int member, int lane) {
  const auto index = static_cast<size_t>(lane * members_ + member);
  return *reinterpret_cast<Signal*>(memory_ + offsets_for(members_).doorbells + index * kLine);
}

std::byte* SharedArea::slot(int member, uint32_t buffer) {
  const size_t index = static_cast<size_t>(member) * kBuffers + buffer;
  return memory_ + offsets_for(members_).slots + index * kSlotBytes;
}

RingMemory& SharedArea::ring(int from, int to, int lane) {
  const auto n = static_cast<size_t>(members_);
  const size_t index = (static_cast<size_t>(lane) * n + static_cast<size_t>(from)) * n + static_cast<size_t>(to);
  return reinterpret_cast<RingMemory*>(memory_ + offsets_for(members_).rings)[index];
}

}  // namespace thalweg::comm
