// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/library_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace thalweg {
namespace {

bool contains(const dl_phdr_info& library, uintptr_t address) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library.dlpi_phdr[i];
    const uintptr_t begin = library.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && begin <= address && address < begin + segment.p_memsz) return true;
  }
  return false;
}

int release(dl_phdr_info* library, size_t, void* address) {
  if (!contains(*library, reinterpret_cast<uintptr_t>(address))) return 0;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    // What can be written to may differ from the file.
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t start = library->dlpi_addr + segment.p_vaddr;
    const uintptr_t begin = (start + page - 1) / page * page, end = (start + segment.p_memsz) / page * page;
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 1;
}

}  // namespace

void release_library_pages(const void* address) { dl_iterate_phdr(release, const_cast<void*>(address)); }

}  // namespace thalweg
