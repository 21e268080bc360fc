// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/op_check.h"
#include "thalweg/zoo.h"

namespace thalweg::testing {

/// Options that make a model of the zoo small enough for a test.
inline Attributes small_zoo_options(const std::string& name) {
  static const std::map<std::string, Attributes> special{
      {"lenet", {}},
      {"lstm_text", {{"vocab", int64_t{20}}, {"embed", int64_t{8}}, {"hidden", int64_t{16}}}},
      {"ncf", {{"users", int64_t{30}}, {"items", int64_t{20}}}},
      {"convlstm", {{"height", int64_t{8}}, {"width", int64_t{8}}}},
      {"transformer",
       {{"vocab", int64_t{20}},
        {"dim", int64_t{16}},
        {"heads", int64_t{2}},
        {"ffn", int64_t{32}},
        {"layers", int64_t{2}},
        {"time", int64_t{12}}}},
  };
  const auto found = special.find(name);
  if (found != special.end()) return found->second;
  // These pool to a size that smaller pictures do not divide into.
  const bool whole = name == "alexnet" || name.starts_with("vgg");
  if (whole) return {{"width", int64_t{16}}, {"classes", int64_t{7}}};
  return {{"width", int64_t{8}}, {"image_size", int64_t{64}}, {"classes", int64_t{7}}};
}

/// Random inputs; free dimensions are `batch`, or 7 where they are not the first.
inline std::vector<Tensor> zoo_inputs(const Graph& graph, int64_t batch) {
  std::vector<Tensor> inputs;
  for (const Value* input : graph.inputs()) {
    Shape shape = input->shape();
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] == kFree) shape[d] = d == 0 ? batch : 7;
    }
    inputs.push_back(random_tensor(input->dtype(), shape, 3 + inputs.size(), 0, is_floating(input->dtype()) ? 1 : 5));
  }
  return inputs;
}

}  // namespace thalweg::testing
