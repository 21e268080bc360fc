// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <string>

#include "thalweg/c_api.h"
#include "thalweg/error.h"

namespace thalweg::capi {

/// What tw_last_error gives in this thread.
std::string& last_error();

/// Runs `body`; whatever it throws becomes a status and the text of tw_last_error.
template <typename Body>
tw_status guarded(Body&& body) noexcept {
  try {
    body();
    return TW_OK;
  } catch (const std::bad_alloc&) {
    try {
      last_error() = "out of memory";
    } catch (...) {  // not even that much is left
    }
    return TW_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    try {
      last_error() = error.what();
    } catch (...) {
    }
    return TW_ERROR;
  } catch (...) {
    return TW_ERROR;
  }
}

}  // namespace thalweg::capi
