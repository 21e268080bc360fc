// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Operators that move elements, on texts: the places of the elements are moved as numbers are, then the texts follow.
#include "graph/host_op.h"
#include "runtime/evaluate.h"
#include "runtime/specialize.h"
#include "thalweg/stored_types.h"

namespace thalweg {
namespace {

/// Everything is constant.
class NothingElse : public ValueSource {
 public:
  Value* define(const Value* /*original*/, Graph& /*target*/) override { return nullptr; }
  Tensor content(const Value* /*original*/) override { return {}; }
};

/// The results of a node of `op` for constant inputs.
std::vector<Tensor> evaluated(const std::string& op, const HostContext& call, const std::vector<Tensor>& inputs,
                              size_t num_outputs) {
  Graph from("texts"), to("texts");
  NothingElse nothing;
  Specializer specializer(to, nothing);
  std::vector<Value*> values;
  for (const Tensor& input : inputs) {
    values.push_back(input.defined() ? from.constant(input) : nullptr);
    if (input.defined()) specializer.define(values.back(), to.constant(input));
  }
  const Node* node = from.add_untyped(op, values, call.attrs(), num_outputs);
  std::string problem;
  const auto outcome = specializer.convert(*node, problem);
  TW_REQUIRE(outcome == Specializer::Outcome::kConverted, problem);
  std::vector<Tensor> results;
  for (const Value* output : node->outputs()) {
    const Value* made = specializer.find(output);
    TW_REQUIRE(made->kind() == Value::Kind::kConstant, "so many texts cannot be moved");
    results.push_back(made->data());
  }
  return results;
}

std::vector<Tensor> moved(const std::string& op, const HostContext& call, size_t num_outputs) {
  std::vector<std::string> texts;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < call.num_inputs(); ++i) {
    inputs.push_back(call.has(i) ? call.input(i) : Tensor());
    if (!call.has(i) || call.input(i).dtype() != stored::kText) continue;
    Tensor places(DType::kI64, call.input(i).shape());
    for (int64_t k = 0; k < places.num_elements(); ++k) {
      places.data<int64_t>()[k] = static_cast<int64_t>(texts.size());
      texts.push_back(stored::texts_of(call.input(i))[k]);
    }
    inputs.back() = places;
  }
  std::vector<Tensor> results = evaluated(op, call, inputs, num_outputs);
  if (texts.empty()) return results;
  for (Tensor& result : results) {
    std::vector<std::string> chosen;
    for (int64_t k = 0; k < result.num_elements(); ++k) {
      const int64_t place = result.data<int64_t>()[k];
      TW_REQUIRE(place >= 0 && place < static_cast<int64_t>(texts.size()), "a text is made of nothing");
      chosen.push_back(texts[static_cast<size_t>(place)]);
    }
    result = stored::texts(result.shape(), std::move(chosen));
  }
  return results;
}

/// The same for every operator of these, which only move what they are given.
struct RegisterMoves {
  RegisterMoves(const std::string& family, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      const std::string op = family + name;
      RegisterHost(op, [op](const HostContext& call) { return moved(op, call, 1); });
    }
  }
};

const RegisterMoves kMoves("onnx.",
                           {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Concat", "Slice", "Expand",
                            "Tile", "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "Where"});
const RegisterMoves kClassicMoves("ai.onnx.ml.", {"ArrayFeatureExtractor"});

}  // namespace
}  // namespace thalweg
