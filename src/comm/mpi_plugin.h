// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The library thalweg_mpi, which is built where OpenMPI is found and loaded by processes that mpirun started, so that
/// no other process has to load MPI. One thread at a time calls its functions, whichever it is. They return null, or a
/// message that stays valid until the next call.
extern "C" {

/// A message to or from another process.
struct ThalwegMpiMessage {
  int sends;
  int peer;
  /// 0 to 2: messages of one are never taken for those of another.
  int space;
  /// From 0 to the largest that `start` names.
  int tag;
  void* data;
  int bytes;
};

struct ThalwegMpi {
  /// Who this process is among all.
  const char* (*start)(int* rank, int* size, int* largest_tag);
  /// The first process's bytes, in all of them.
  const char* (*broadcast)(void* data, int bytes);
  /// Begins a message, whose memory must stay until `test` says that it is done.
  const char* (*begin)(const ThalwegMpiMessage* message, uint64_t* request);
  /// Lets MPI work, and says whether the message is through and, of one that is received, how long it was.
  const char* (*test)(uint64_t* request, int* done, int* bytes);
  /// Asks MPI to forget the message. It may be through nevertheless: go on with `test` until it is done.
  void (*cancel)(uint64_t* request);
  /// This process will end without the others, which MPI's own end would wait for.
  void (*give_up)();
};

__attribute__((visibility("default"))) const ThalwegMpi* thalweg_mpi();
using ThalwegMpiEntry = const ThalwegMpi* (*)();
}
