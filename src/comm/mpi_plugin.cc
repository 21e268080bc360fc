// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_plugin.h"

#include <mpi.h>

#include <cstdlib>

namespace {

const char* message(int code) {
  static char text[MPI_MAX_ERROR_STRING];
  int size = 0;
  if (code == MPI_SUCCESS) return nullptr;
  return MPI_Error_string(code, text, &size) == MPI_SUCCESS ? text : "unknown error";
}

/// Only the thread that joins the group calls MPI.
int initialise() {
  int ready = 0, provided = 0;
  if (const int code = MPI_Initialized(&ready); code != MPI_SUCCESS || ready != 0) return code;
  if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided); code != MPI_SUCCESS) {
    return code;
  }
  std::atexit([] { MPI_Finalize(); });
  return MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

}  // namespace

const char* thalweg_mpi_world(int* rank, int* size) {
  int code = initialise();
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, size);
  return message(code);
}

const char* thalweg_mpi_broadcast(void* data, int bytes) {
  return message(MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD));
}
