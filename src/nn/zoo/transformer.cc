// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn.h"
#include "thalweg/ops/reduce.h"
#include "thalweg/zoo.h"

namespace thalweg::zoo {

std::unique_ptr<Graph> transformer(const TransformerOptions& options) {
  auto graph = std::make_unique<Graph>("transformer");
  const nn::Scope scope(*graph, options.seed);
  Value* tokens = graph->input("tokens", {DType::kI64, {kFree, options.time}});
  const nn::Embedding embedding(options.vocab, options.dim, {.sparse = options.sparse});
  Value* x = embedding.forward(scope.sub("embedding"), tokens);
  x = ops::add(x, nn::Embedding(options.time, options.dim).table(scope.sub("position")));
  const nn::TransformerEncoderLayer layer(
      options.dim, options.heads, {.dim_feedforward = options.ffn, .dropout = options.dropout, .batch_first = true});
  x = nn::TransformerEncoder(layer, options.layers).forward(scope.sub("encoder"), x);
  x = nn::Linear(options.dim, options.classes).forward(scope.sub("fc"), ops::reduce_mean(x, {1}));
  graph->mark_output(x, "output");
  return graph;
}

}  // namespace thalweg::zoo
