// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

/// The library thalweg_mpi, which is built where OpenMPI is found and loaded by processes that mpirun started, so that
/// no other process has to load MPI. Functions return null, or a message that stays valid until the next call.
extern "C" {
using ThalwegMpiWorld = const char* (*)(int* rank, int* size);
__attribute__((visibility("default"))) const char* thalweg_mpi_world(int* rank, int* size);
/// The first process's bytes, in all of them.
using ThalwegMpiBroadcast = const char* (*)(void* data, int bytes);
__attribute__((visibility("default"))) const char* thalweg_mpi_broadcast(void* data, int bytes);
}
