// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "bench/int8_run.h"

#include <spawn.h>
#include <sys/wait.h>

#include <filesystem>

#include "bench/case_model.h"
#include "bench/cross_entropy.h"
#include "thalweg/model.h"
#include "thalweg/optimize.h"
#include "thalweg/zoo.h"

extern char** environ;

namespace thalweg::bench {
namespace {

constexpr int kCalibrationBatches = 4;

/// A folder that goes with this object.
struct Folder {
  std::string path;
  Folder() {
    path = (std::filesystem::temp_directory_path() / "thalweg-bench-XXXXXX").string();
    TW_REQUIRE(::mkdtemp(path.data()) != nullptr, "cannot make a folder like ", path);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

Model load_int8(const std::string& name, int threads) {
  const Folder folder;
  std::vector<std::string> words{
      "/proc/self/exe",          "--case", name, "--threads", std::to_string(threads), "--write-int8",
      folder.path + "/int8.onnx"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, words[0].c_str(), nullptr, nullptr, arguments.data(), environ);
  TW_REQUIRE(failed == 0, "cannot start the process that quantises");
  int status = 0;
  TW_REQUIRE(::waitpid(child, &status, 0) == child && status == 0, name, ": the process that quantises failed");
  InferenceOptions options;
  options.threads = threads;
  return Model::load(folder.path + "/int8.onnx", options);
}

}  // namespace

void write_int8_model(const nlohmann::json& spec, const std::string& path, int threads) {
  std::unique_ptr<Graph> graph = zoo::build(spec.at("model"), model_options(spec));
  nn::deterministic_initialise(*graph);
  const std::string plain = path + ".f32";
  Model(std::move(graph)).save(plain);
  OptimizeOptions options;
  options.forms = {ModelForm::kInt8};
  options.max_drop = 1.0;                      // the weights are not trained: whatever int8 makes of them is taken
  options.calibration = Calibration::kMinMax;  // as the peers' tools do by default
  options.seconds = 0.0;
  options.threads = threads;
  for (int k = 0; k < kCalibrationBatches; ++k) {
    options.data.push_back(make_batch(spec, k));
    options.data.back().pop_back();
  }
  optimize(plain, path, options);
  std::filesystem::remove(plain);
}

Int8Run::Int8Run(const std::string& name, const nlohmann::json& spec, int threads)
    : model_(load_int8(name, threads)), inputs_(make_batch(spec, 0)) {
  labels_ = inputs_.back();
  inputs_.pop_back();
}

double Int8Run::loss() const { return mean_cross_entropy(outputs_.at(0), labels_); }

}  // namespace thalweg::bench
