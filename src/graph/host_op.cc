// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/host_op.h"

namespace thalweg {

const Tensor& HostContext::input(size_t index) const {
  TW_REQUIRE(has(index), "input ", index, " is missing");
  return inputs_[index];
}

std::vector<int64_t> HostContext::content_integers(size_t index) const {
  const Tensor integers = input(index).to(DType::kI64);
  const auto* values = integers.data<int64_t>();
  return {values, values + integers.num_elements()};
}

double HostContext::content_number(size_t index, double fallback) const {
  if (!has(index)) return fallback;
  TW_REQUIRE(input(index).num_elements() == 1, "input ", index, " must have one element, not shape ",
             input(index).shape());
  return input(index).item();
}

int64_t HostContext::content_integer(size_t index, int64_t fallback) const {
  if (!has(index)) return fallback;
  TW_REQUIRE(input(index).num_elements() == 1, "input ", index, " must have one element, not shape ",
             input(index).shape());
  return content_integers(index)[0];
}

const Graph& HostContext::body(const std::string& attribute) const {
  const std::shared_ptr<Graph> graph = attrs().graph(attribute);
  TW_REQUIRE(graph != nullptr, "attribute '", attribute, "' is missing");
  return *graph;
}

}  // namespace thalweg
