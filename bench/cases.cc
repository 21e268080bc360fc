// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "bench/cases.h"

#include "thalweg/error.h"

namespace thalweg::bench {
namespace {

using nlohmann::json;

json integers(const char* name, const std::vector<int64_t>& shape, int64_t below) {
  return {{"name", name}, {"shape", shape}, {"kind", "integer"}, {"below", below}};
}

json image(int64_t batch, int64_t classes) {
  json picture = {{"name", "input"}, {"shape", {batch, 3, 224, 224}}, {"kind", "uniform"}, {"bound", 1.0}};
  return json::array({picture, integers("label", {batch}, classes)});
}

json text(int64_t batch, int64_t time, int64_t vocab, int64_t classes) {
  return json::array({integers("tokens", {batch, time}, vocab), integers("label", {batch}, classes)});
}

json make_case(const char* model, json config, json inputs, double lr, const char* optimizer = "sgd",
               const char* loss = "cross_entropy") {
  return {{"model", model}, {"config", std::move(config)}, {"inputs", std::move(inputs)},
          {"lr", lr},       {"optimizer", optimizer},      {"loss", loss}};
}

json all_cases() {
  const json plain = {{"classes", 1000}};
  const json three = {{"classes", 3}, {"dropout", 0.0}};
  json cases;
  cases["train_resnet50_b16_f32"] = make_case("resnet50", plain, image(16, 1000), 0.001);
  cases["train_resnet50_b16_bf16"] = cases["train_resnet50_b16_f32"];
  cases["train_resnet50_b16_bf16"]["bf16"] = true;
  cases["train_vgg16_b8_f32"] = make_case("vgg16", three, image(8, 3), 0.00001);
  cases["train_resnet18_b16_f32"] = make_case("resnet18", plain, image(16, 1000), 0.001);
  cases["train_inception_v1_b16_f32"] =
      make_case("inception_v1", {{"classes", 1000}, {"dropout", 0.0}}, image(16, 1000), 0.0001);
  cases["train_alexnet_b32_f32"] = make_case("alexnet", three, image(32, 3), 0.0001);
  // Between two processes, each with such a batch.
  cases["ddp_resnet50_b8_x2"] = make_case("resnet50", plain, image(8, 1000), 0.001);
  cases["ddp_alexnet_b16_x2"] = make_case("alexnet", {{"classes", 1000}, {"dropout", 0.0}}, image(16, 1000), 0.0001);
  cases["train_ncf_b2048"] = make_case(
      "ncf",
      {{"users", 138493}, {"items", 26744}, {"mf_dim", 64}, {"mlp_layers", {256, 256, 128, 64}}, {"sparse", true}},
      json::array({integers("users", {2048}, 138493), integers("items", {2048}, 26744), integers("label", {2048}, 2)}),
      0.0001, "adam+sparse", "bce_with_logits");
  cases["train_lstm_text_b32"] =
      make_case("lstm_text", {{"vocab", 20000}, {"embed", 200}, {"hidden", 128}, {"classes", 20}},
                text(32, 500, 20000, 20), 0.0001, "adam");
  cases["train_transformer_b16"] = make_case("transformer",
                                             {{"vocab", 10000},
                                              {"dim", 256},
                                              {"heads", 8},
                                              {"ffn", 1024},
                                              {"layers", 4},
                                              {"time", 128},
                                              {"classes", 20},
                                              {"dropout", 0.0}},
                                             text(16, 128, 10000, 20), 0.00003, "adam");
  const json no_dropout = {{"classes", 1000}, {"dropout", 0.0}};
  for (const int64_t batch : {1, 16}) {
    for (const std::string precision : {"f32", "bf16", "int8"}) {
      const std::string end = "_b" + std::to_string(batch) + "_" + precision;
      cases["infer_vgg16" + end] = make_case("vgg16", no_dropout, image(batch, 1000), 0);
      cases["infer_resnet50" + end] = make_case("resnet50", plain, image(batch, 1000), 0);
      cases["infer_mobilenet_v2" + end] = make_case("mobilenet_v2", no_dropout, image(batch, 1000), 0);
      for (const char* model : {"infer_vgg16", "infer_resnet50", "infer_mobilenet_v2"}) {
        if (precision != "f32") cases[model + end][precision] = true;
      }
    }
  }
  return cases;
}

}  // namespace

json find_case(const std::string& name) {
  const json cases = all_cases();
  std::string known;
  for (const auto& [key, value] : cases.items()) known += (known.empty() ? "" : ", ") + key;
  TW_REQUIRE(cases.contains(name), "there is no case '", name, "'; known: ", known);
  return cases.at(name);
}

}  // namespace thalweg::bench
