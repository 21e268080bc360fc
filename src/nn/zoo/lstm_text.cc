// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn.h"
#include "thalweg/ops/shape.h"
#include "thalweg/zoo.h"

namespace thalweg::zoo {

std::unique_ptr<Graph> lstm_text(const LstmTextOptions& options) {
  auto graph = std::make_unique<Graph>("lstm_text");
  const nn::Scope scope(*graph, options.seed);
  Value* tokens = graph->input("tokens", {DType::kI64, {kFree, kFree}});
  const nn::Embedding embedding(options.vocab, options.embed, {.sparse = options.sparse});
  Value* x = embedding.forward(scope.sub("embedding"), tokens);
  const nn::LSTM lstm(options.embed, options.hidden, {.batch_first = true});
  // The last hidden state is the last output: taking it spares a gradient of zeros for all the other steps.
  Value* last = ops::squeeze(lstm.run(scope.sub("lstm"), x).last.h, {0});
  graph->mark_output(nn::Linear(options.hidden, options.classes).forward(scope.sub("fc"), last), "output");
  return graph;
}

}  // namespace thalweg::zoo
