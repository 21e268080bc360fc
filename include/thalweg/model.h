// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/graph.h"
#include "thalweg/passes.h"

namespace thalweg {

struct PredictOptions {
  Precision precision = Precision::kF32;
  Math math = Math::kFast;
  Tuning tuning = Tuning::kFixed;
  /// 0: what the machine and its control group allow. For each concurrent call.
  int threads = 0;
  /// Compiled programs that are kept, one for each combination of input shapes; the least recently used one goes first.
  int max_programs = 8;
};

/// A graph and its weights: what is trained, asked for predictions and saved.
///
/// All members may be called from several threads at once. Predictions run side by side; a training step or a change
/// of weights waits for those under way and keeps later ones waiting.
class Model {
 public:
  /// Takes over a graph in training form, outputs marked, weights inside.
  explicit Model(std::unique_ptr<Graph> graph, const PredictOptions& options = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  /// The structure; the weights have left it.
  const Graph& graph() const;
  PredictOptions predict_options() const;
  /// Forgets the programs compiled so far.
  void set_predict_options(const PredictOptions& options);

  /// The outputs for `inputs`, which may have any sizes that the graph leaves free. The first call for new shapes
  /// compiles; later ones only run.
  std::vector<Tensor> predict(const std::vector<Tensor>& inputs);
  /// Which kernels `predict` runs for these inputs, in which layouts, how long each takes, and why better ones
  /// declined.
  std::string explain(const std::vector<Tensor>& inputs);

  /// Names of all parameters and states, in order of creation.
  std::vector<std::string> weight_names() const;
  /// A copy of a parameter or state. Throws if there is none of that name.
  Tensor weight(const std::string& name) const;
  /// Throws if the type differs.
  void set_weight(const std::string& name, const Tensor& value);

  /// Parameters whose names match `pattern` ('*': any characters, '?': one) are no longer trained, or again. Frozen
  /// parts cost no backward work. Returns how many match; throws if none does.
  int freeze(const std::string& pattern);
  int unfreeze(const std::string& pattern);

  /// A table of all weights: name, shape, count, whether it is trained; and totals.
  std::string summary() const;

  /// What the model computes at inference, with its weights, as an ONNX file (see onnx::save), written aside and then
  /// renamed. `metadata` goes into ONNX's metadata properties.
  void save(const std::string& path, const std::map<std::string, std::string>& metadata = {}) const;
  /// The bytes of that file, as u8.
  Tensor to_onnx(const std::map<std::string, std::string>& metadata = {}) const;
  /// All parameters and states as a safetensors file, written aside and then renamed.
  void save_weights(const std::string& path) const;
  /// Throws Error with every name that is missing, unexpected or of another shape, before any weight has changed. With
  /// `strict` off only shapes must agree: names that either side lacks are passed over. Floating types are converted.
  /// How many batches PyTorch's batch normalisation has seen ("...num_batches_tracked") is never missing or unexpected.
  void load_weights(const std::string& path, bool strict = true);
  /// The same with weights in memory.
  void set_weights(const std::map<std::string, Tensor>& weights, bool strict = true);

  /// The inside, for the engine.
  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg
