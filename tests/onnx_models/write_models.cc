// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// write_models FOLDER: saves every model of the zoo as NAME.onnx, and in NAME.safetensors inputs (input.*) with what
// Thalweg predicts for them (output.*), for run.py to compare with another runtime.
#include <cstdio>
#include <exception>
#include <filesystem>

#include "thalweg/model.h"
#include "thalweg/safetensors.h"
#include "train/zoo_cases.h"

namespace thalweg::testing {
namespace {

/// Statistics other than those a batch norm starts with, under which it would do nothing.
void vary_batch_norms(Model& model) {
  for (const std::string& name : model.weight_names()) {
    const Tensor old = model.weight(name);
    if (name.ends_with("running_mean")) model.set_weight(name, random_tensor(old.dtype(), old.shape(), 5, -0.2, 0.2));
    if (name.ends_with("running_var")) model.set_weight(name, random_tensor(old.dtype(), old.shape(), 6, 0.5, 1.5));
  }
}

void write(const std::string& name, const Attributes& options, const std::filesystem::path& stem) {
  constexpr int64_t kBatch = 3;
  Model model(zoo::build(name, options));
  vary_batch_norms(model);
  model.save(stem.string() + ".onnx");
  const std::vector<Tensor> inputs = zoo_inputs(model.graph(), kBatch), outputs = model.predict(inputs);
  std::vector<NamedTensor> tensors;
  const Graph& graph = model.graph();
  for (size_t i = 0; i < inputs.size(); ++i) tensors.push_back({"input." + graph.inputs()[i]->name(), inputs[i]});
  for (size_t i = 0; i < outputs.size(); ++i) tensors.push_back({"output." + graph.outputs()[i]->name(), outputs[i]});
  save_safetensors(stem.string() + ".safetensors", tensors);
}

}  // namespace
}  // namespace thalweg::testing

int main(int argc, char** argv) {
  using namespace thalweg;
  if (argc != 2) {
    std::fputs("usage: write_models FOLDER\n", stderr);
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[1];
    for (const std::string& name : zoo::names()) {
      testing::write(name, testing::small_zoo_options(name), folder / ("small_" + name));
    }
    for (const char* name : {"resnet50", "mobilenet_v2"}) testing::write(name, {}, folder / name);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_models: %s\n", error.what());
    return 1;
  }
}
