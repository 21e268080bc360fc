// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn.h"
#include "thalweg/ops/conv.h"
#include "thalweg/zoo.h"

namespace thalweg::zoo {
namespace {

/// A stack of cells whose parameters are made once and used at every step.
class Stack {
 public:
  Stack(const nn::Scope& scope, const ConvLstmOptions& options, int64_t inputs) {
    for (int64_t i = 0; i < options.layers; ++i) {
      const nn::Scope place = scope.sub(static_cast<size_t>(i));
      const nn::ConvLSTM layer(i == 0 ? inputs : options.hidden, options.hidden, options.kernel);
      layers_.push_back({place, layer, layer.cell(place)});
    }
  }

  Value* step(Value* x, std::vector<ops::ConvLstmState>& states) const {
    for (size_t i = 0; i < layers_.size(); ++i) {
      states[i] = layers_[i].layer.step(layers_[i].place, layers_[i].cell, x, states[i]);
      x = states[i].h;
    }
    return x;
  }

 private:
  struct Layer {
    nn::Scope place;
    nn::ConvLSTM layer;
    nn::ConvLSTM::Cell cell;
  };
  std::vector<Layer> layers_;
};

}  // namespace

std::unique_ptr<Graph> convlstm(const ConvLstmOptions& options) {
  TW_REQUIRE(options.layers >= 1 && options.time >= 1 && options.steps >= 1,
             "convlstm: layers, time and steps must be at least 1");
  auto graph = std::make_unique<Graph>("convlstm");
  const nn::Scope scope(*graph, options.seed);
  Value* frames =
      graph->input("input", {DType::kF32, {kFree, options.time, options.channels, options.height, options.width}});
  const Stack encoder(scope.sub("encoder"), options, options.channels);
  const Stack decoder(scope.sub("decoder"), options, options.hidden);
  std::vector<ops::ConvLstmState> states(static_cast<size_t>(options.layers), {nullptr, nullptr});
  Value* code = nullptr;
  for (int64_t t = 0; t < options.time; ++t) code = encoder.step(nn::time_step(frames, t), states);
  const nn::Conv2d head(options.hidden, options.channels, 1);
  nn::Scope place = scope.sub("head");
  std::vector<Value*> result;
  for (int64_t t = 0; t < options.steps; ++t) {
    result.push_back(head.forward(place, decoder.step(code, states)));
    place = place.reuse();
  }
  graph->mark_output(nn::stack_time(result), "output");
  return graph;
}

}  // namespace thalweg::zoo
