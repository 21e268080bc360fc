// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sync/compress/compressor.h"
#include "sync/registry.h"

namespace thalweg::sync {

/// A compressor as `compressors()` lists it.
struct CompressorPart : CompressorInfo {
  std::unique_ptr<Compressor> (*make)(const PartOptions& options) = nullptr;
};
/// At the end of the file of each compressor.
using RegisterCompressor = Register<CompressorPart>;

/// An option of those that keep what they leave out.
inline OptionInfo copy_every(double steps) {
  return {"copy_every",
          steps,
          0,
          1e12,
          true,
          "steps in which what a worker keeps goes to another one once, which takes it over if it is lost; 0: never"};
}

}  // namespace thalweg::sync
