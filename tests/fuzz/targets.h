// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "base/limits.h"
#include "formats/safetensors_header.h"
#include "thalweg/caffe.h"
#include "thalweg/error.h"
#include "thalweg/model.h"

/// What the fuzzers run, and corpus_test.cc repeats: anything but a result or an Error is a finding.
namespace thalweg::fuzz {

/// An input of the declared type with small numbers, free dimensions 2 long; undefined if it would be large.
inline Tensor small_input(const ValueDescription& value) {
  constexpr int64_t kMostElements = 4096;
  std::vector<int64_t> dims = value.shape.has_value() ? value.shape->dims() : std::vector<int64_t>{2, 2};
  int64_t count = 1;
  for (int64_t& dim : dims) {
    if (dim == kFree) dim = 2;
    if (dim > kMostElements) return {};
    count *= dim;
    if (count > kMostElements) return {};
  }
  Tensor pattern(DType::kI64, Shape(dims));
  for (int64_t i = 0; i < count; ++i) pattern.data<int64_t>()[i] = i % 3;
  return pattern.to(value.dtype.value_or(DType::kF32));
}

inline void run_onnx(std::string_view bytes) {
  InferenceOptions options;
  options.threads = 1;
  options.tuning = Tuning::kFixed;
  options.max_programs = 2;
  options.max_memory = size_t{64} << 20;
  options.max_seconds = 1.0;
  try {
    const Model model = Model::load_bytes(std::string(bytes), options);
    std::vector<Tensor> inputs;
    for (const ValueDescription& value : model.inputs()) inputs.push_back(small_input(value));
    model.predict(inputs);
  } catch (const Error&) {
  }
}

/// A network, and its weights behind the first byte that no text has.
inline void read_caffe(std::string_view bytes) {
  InferenceOptions options;
  options.threads = 1;
  options.tuning = Tuning::kFixed;
  options.max_memory = size_t{64} << 20;
  options.max_seconds = 1.0;
  const size_t end = std::min(bytes.find('\0'), bytes.size());
  const std::string weights(bytes.substr(std::min(end + 1, bytes.size())));
  try {
    const ScopedLimits limits(options.max_memory, options.max_seconds);
    const Model model(caffe::load_bytes(std::string(bytes.substr(0, end)), weights), options);
    std::vector<Tensor> inputs;
    for (const ValueDescription& value : model.inputs()) inputs.push_back(small_input(value));
    model.predict(inputs);
  } catch (const Error&) {
  }
}

inline void read_safetensors(std::string_view bytes) {
  try {
    formats::parse_safetensors(std::as_bytes(std::span(bytes)), "fuzzed");
  } catch (const Error&) {
  }
}

}  // namespace thalweg::fuzz
