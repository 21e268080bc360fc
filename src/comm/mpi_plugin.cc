// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_plugin.h"

#include <mpi.h>

#include <cstdlib>
#include <cstring>

namespace {

/// One for each space of tags, apart from that of others who use MPI in this process.
MPI_Comm spaces[3] = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
bool given_up = false;

const char* message(int code) {
  static char text[MPI_MAX_ERROR_STRING];
  int size = 0;
  if (code == MPI_SUCCESS) return nullptr;
  return MPI_Error_string(code, text, &size) == MPI_SUCCESS ? text : "unknown error";
}

MPI_Request request_of(const uint64_t* handle) {
  static_assert(sizeof(MPI_Request) <= sizeof(uint64_t));
  MPI_Request request = MPI_REQUEST_NULL;
  std::memcpy(&request, handle, sizeof request);
  return request;
}
void store(MPI_Request request, uint64_t* handle) { std::memcpy(handle, &request, sizeof request); }

int initialise(int* threads) {
  int ready = 0;
  if (const int code = MPI_Initialized(&ready); code != MPI_SUCCESS) return code;
  if (ready != 0) return MPI_Query_thread(threads);
  const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, threads);
  if (code == MPI_SUCCESS) {
    std::atexit([] {
      if (!given_up) MPI_Finalize();
    });
  }
  return code;
}

int open_spaces() {
  for (MPI_Comm& space : spaces) {
    if (space != MPI_COMM_NULL) continue;
    if (const int code = MPI_Comm_dup(MPI_COMM_WORLD, &space); code != MPI_SUCCESS) return code;
    if (const int code = MPI_Comm_set_errhandler(space, MPI_ERRORS_RETURN); code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

const char* start(int* rank, int* size, int* largest_tag) {
  int threads = MPI_THREAD_SINGLE;
  int code = initialise(&threads);
  if (code == MPI_SUCCESS && threads < MPI_THREAD_SERIALIZED) return "it was set up for a single thread";
  if (code == MPI_SUCCESS) code = open_spaces();
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(spaces[0], rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(spaces[0], size);
  int* limit = nullptr;
  int known = 0;
  if (code == MPI_SUCCESS) code = MPI_Comm_get_attr(spaces[0], MPI_TAG_UB, static_cast<void*>(&limit), &known);
  // What every MPI allows.
  *largest_tag = known != 0 ? *limit : 32767;
  return message(code);
}

const char* broadcast(void* data, int bytes) { return message(MPI_Bcast(data, bytes, MPI_BYTE, 0, spaces[0])); }

const char* begin(const ThalwegMpiMessage* one, uint64_t* handle) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm space = spaces[one->space];
  const int code = one->sends != 0 ? MPI_Isend(one->data, one->bytes, MPI_BYTE, one->peer, one->tag, space, &request)
                                   : MPI_Irecv(one->data, one->bytes, MPI_BYTE, one->peer, one->tag, space, &request);
  store(request, handle);
  return message(code);
}

const char* test(uint64_t* handle, int* done, int* bytes) {
  MPI_Request request = request_of(handle);
  MPI_Status status;
  int code = MPI_Test(&request, done, &status);
  store(request, handle);
  if (code == MPI_SUCCESS && *done != 0) code = MPI_Get_count(&status, MPI_BYTE, bytes);
  return message(code);
}

void cancel(uint64_t* handle) {
  MPI_Request request = request_of(handle);
  MPI_Cancel(&request);
  store(request, handle);
}

void give_up() { given_up = true; }

}  // namespace

const ThalwegMpi* thalweg_mpi() {
  static const ThalwegMpi functions = {start, broadcast, begin, test, cancel, give_up};
  return &functions;
}
