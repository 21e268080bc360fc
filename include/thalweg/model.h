// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/graph.h"
#include "thalweg/onnx.h"
#include "thalweg/passes.h"
#include "thalweg/profile.h"

namespace thalweg {

struct InferenceOptions {
  /// Nothing: what the model's metadata property "thalweg.precision" asks for, else f32.
  std::optional<Precision> precision = {};
  Math math = Math::kFast;
  /// Nothing: measured for a model from a file. One that was built here is rather trained, and gives the same bits in
  /// every run: fixed.
  std::optional<Tuning> tuning = {};
  /// 0: what the machine and its control group allow. For each concurrent call.
  int threads = 0;
  /// Compiled programs that are kept for each part of the model, one for each combination of input shapes; the least
  /// recently used one goes first.
  int max_programs = 8;
  /// The largest piece of memory that loading or a run may ask for, in bytes: a small file can ask for tensors of any
  /// size. 0: what the machine, or the control group, has in all.
  size_t max_memory = 0;
  /// A run that takes longer ends with an Error before its next part or iteration: a small file can loop forever. 0: no
  /// limit.
  double max_seconds = 0;
  /// Of a model that is read from a file, when it is trained; nothing: as the file says (onnx::load_for_training).
  std::optional<onnx::BatchNormTraining> train_batch_norm = {};
};

/// What goes into or comes out of a model.
struct ValueDescription {
  std::string name;
  /// Nothing if ONNX does not say or the type is not a tensor of a supported element type.
  std::optional<DType> dtype;
  /// Nothing if not even the number of dimensions is known; unknown dimensions are kFree.
  std::optional<Shape> shape;
  /// The model's names of unknown dimensions, "" where it has none; as long as the shape.
  std::vector<std::string> dimension_names;
  /// Of an output: the operator that it comes from, in small letters, as "softmax"; otherwise "".
  std::string made_by = {};
};

/// As "images f32[N, 3, 224, 224]".
std::string to_string(const ValueDescription& value);

/// What a model holds.
struct ModelSummary {
  std::string name;
  /// Of the default domain; 0 for a model that does not come from a file.
  int64_t opset = 0;
  /// The program that wrote the file, as "pytorch 2.9".
  std::string producer;
  /// Nodes of each operator, functions expanded; those of graphs inside nodes count too.
  std::map<std::string, int64_t> operators;
  int64_t nodes = 0;
  /// Elements and bytes of the weights: of all parameters and states, and of arrays of bytes among the constants.
  int64_t parameters = 0;
  size_t weight_bytes = 0;
  /// What it computes predictions in.
  Precision precision = Precision::kF32;
};

/// A graph and its weights: what is loaded, asked for predictions, trained, optimised and saved.
///
/// It is compiled for the shapes of the inputs it is given, when they first come; shapes that the model computes are
/// known by then. Where a shape depends on the data (NonZero, Loop, ...) the model is cut into segments, each compiled
/// once the shapes that enter it are known.
///
/// All members may be called from several threads at once. Predictions run side by side; a training step or a change
/// of weights waits for those under way and keeps later ones waiting.
class Model {
 public:
  /// Takes over a graph in training form, outputs marked, weights inside.
  explicit Model(std::unique_ptr<Graph> graph, const InferenceOptions& options = {});
  /// Reads an ONNX file. Throws an Error that names the file and, if operators are not supported, lists all of them.
  /// Weights stay in the file, and in those of its external data, until a program rearranges them or the model is
  /// trained: until the model is gone the files must not be changed in place.
  ///
  /// A Caffe network (.prototxt) is read with the weights (.caffemodel) that lie beside it under the same name; it is
  /// an error if there are none.
  static Model load(const std::string& path, const InferenceOptions& options = {});
  /// A Caffe network with a file of its weights; "": it starts as its fillers say, to be trained. See caffe::load.
  static Model load_caffe(const std::string& network, const std::string& weights, const InferenceOptions& options = {});
  /// From the bytes of a model file without external data.
  static Model load_bytes(std::string bytes, const InferenceOptions& options = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  /// The structure; the weights have left it.
  const Graph& graph() const;
  const std::vector<ValueDescription>& inputs() const;
  const std::vector<ValueDescription>& outputs() const;
  ModelSummary summary() const;
  /// The metadata properties of the file it comes from; `save` writes them again.
  const std::map<std::string, std::string>& metadata() const;

  /// As they were given.
  InferenceOptions options() const;
  /// Forgets the programs compiled so far.
  void set_options(const InferenceOptions& options);

  /// The outputs for `inputs`, which may have any sizes that the model leaves free. The first call for new shapes
  /// compiles; later ones only run. Throws an Error that names the input if one does not fit.
  std::vector<Tensor> predict(const std::vector<Tensor>& inputs) const;
  /// The kernels that `predict` uses for these inputs, in which layouts, how long each takes, and why better ones
  /// declined; the segments of the model in the order of their execution. A node that is executed by itself, outside of
  /// compiled programs, is a segment with one step.
  std::vector<ProgramProfile> profile(const std::vector<Tensor>& inputs) const;
  /// The same as text.
  std::string explain(const std::vector<Tensor>& inputs) const;

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
  std::string weight_table() const;

  /// What the model computes at inference, with its weights, as an ONNX file (see onnx::save), written aside and then
  /// renamed. `metadata` goes into ONNX's metadata properties, over those that the model came with.
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
  explicit Model(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

/// Inputs, outputs, metadata, operators, size and weights of a model, for people.
std::string describe(const Model& model);

}  // namespace thalweg
