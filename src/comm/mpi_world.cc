// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_world.h"

#include <dlfcn.h>

#include <cstdlib>

#include "thalweg/comm.h"

namespace thalweg::comm {
namespace {

/// MPI's messages last until its next call.
std::string copied(const char* message) { return message != nullptr ? message : ""; }

void check(const char* message) { TW_REQUIRE(message == nullptr, "MPI: ", message); }

const ThalwegMpi* load() {
  Dl_info self{};
  ::dladdr(reinterpret_cast<const void*>(&make_secret), &self);
  const std::string own = self.dli_fname != nullptr ? self.dli_fname : "";
  const std::string path = own.substr(0, own.rfind('/') + 1) + "libthalweg_mpi.so";
  // OpenMPI loads parts of itself that look for its symbols among those of the whole program.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  TW_REQUIRE(library != nullptr, "mpirun has started this process, but ", ::dlerror(),
             ": build Thalweg where libopenmpi-dev is installed, or use 'thalweg launch'");
  const auto entry = reinterpret_cast<ThalwegMpiEntry>(::dlsym(library, "thalweg_mpi"));
  TW_REQUIRE(entry != nullptr, path, " is not of this version of Thalweg");
  return entry();
}

}  // namespace

bool MpiWorld::exists() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

MpiWorld::MpiWorld() : functions_(load()) { check(functions_->start(&rank_, &size_, &largest_tag_)); }

std::string MpiWorld::begin(const ThalwegMpiMessage& message, uint64_t& request) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return copied(functions_->begin(&message, &request));
}

std::string MpiWorld::test(uint64_t& request, bool& done, size_t& bytes) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  int through = 0, count = 0;
  std::string error = copied(functions_->test(&request, &through, &count));
  done = through != 0;
  bytes = static_cast<size_t>(count);
  return error;
}

void MpiWorld::cancel(uint64_t& request) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  functions_->cancel(&request);
}

void MpiWorld::give_up() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  functions_->give_up();
}

std::string MpiWorld::broadcast(std::string text) const {
  int size = static_cast<int>(text.size());
  check(functions_->broadcast(&size, sizeof size));
  text.resize(static_cast<size_t>(size));
  check(functions_->broadcast(text.data(), size));
  return text;
}

}  // namespace thalweg::comm
