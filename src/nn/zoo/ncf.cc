// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn.h"
#include "thalweg/ops/shape.h"
#include "thalweg/zoo.h"

namespace thalweg::zoo {

std::unique_ptr<Graph> ncf(const NcfOptions& options) {
  TW_REQUIRE(options.mlp_layers.size() >= 2 && options.mlp_layers[0] % 2 == 0,
             "ncf: mlp_layers needs two or more sizes, the first of them even");
  auto graph = std::make_unique<Graph>("ncf");
  const nn::Scope scope(*graph, options.seed);
  Value* users = graph->input("users", {DType::kI64, {kFree}});
  Value* items = graph->input("items", {DType::kI64, {kFree}});
  const auto embed = [&](const char* name, Value* indices, int64_t count, int64_t dim) {
    const nn::EmbeddingOptions table{.sparse = options.sparse, .weight_init = nn::init::normal(0.0, 0.01)};
    return nn::Embedding(count, dim, table).forward(scope.sub(name), indices);
  };
  const int64_t half = options.mlp_layers[0] / 2;
  Value* mf_user = embed("mf_user_embed", users, options.users, options.mf_dim);
  Value* mf_item = embed("mf_item_embed", items, options.items, options.mf_dim);
  Value* mlp_user = embed("mlp_user_embed", users, options.users, half);
  Value* mlp_item = embed("mlp_item_embed", items, options.items, half);
  Value* x = ops::concat({mlp_user, mlp_item}, 1);
  for (size_t i = 0; i + 1 < options.mlp_layers.size(); ++i) {
    const nn::Linear layer(options.mlp_layers[i], options.mlp_layers[i + 1]);
    x = ops::relu(layer.forward(scope.sub("mlp").sub(i), x));
  }
  x = ops::concat({ops::mul(mf_user, mf_item), x}, 1);
  const nn::Linear head(options.mf_dim + options.mlp_layers.back(), 1);
  graph->mark_output(ops::squeeze(head.forward(scope.sub("final"), x), {1}), "output");
  return graph;
}

}  // namespace thalweg::zoo
