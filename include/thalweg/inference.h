// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/passes.h"
#include "thalweg/profile.h"
#include "thalweg/tensor.h"

namespace thalweg {

namespace onnx {
struct ModelFile;
}

struct InferenceOptions {
  /// Nothing: what the model's metadata property "thalweg.precision" asks for, else f32.
  std::optional<Precision> precision;
  Math math = Math::kFast;
  Tuning tuning = Tuning::kMeasured;
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
  /// Of an output: the operator that it comes from, as "Softmax"; otherwise "".
  std::string made_by = {};
};

/// As "images f32[N, 3, 224, 224]".
std::string to_string(const ValueDescription& value);

/// What a model file holds.
struct ModelSummary {
  std::string name;
  /// Of the default domain.
  int64_t opset = 0;
  /// The program that wrote the file, as "pytorch 2.9".
  std::string producer;
  /// Nodes of each operator, functions expanded; those of graphs inside nodes count too.
  std::map<std::string, int64_t> operators;
  int64_t nodes = 0;
  /// Elements and bytes of the weights: of all arrays among the initialisers of floating types or of 8 bits.
  int64_t parameters = 0;
  size_t weight_bytes = 0;
  /// What it was loaded to compute in.
  Precision precision = Precision::kF32;
};

/// An ONNX model ready to run. It is compiled for the shapes of the inputs it is given, when they first come; shapes
/// that the model computes are known by then. Where a shape depends on the data (NonZero, Loop, ...) the model is cut
/// into parts, each compiled once the shapes that enter it are known.
///
/// All members may be called from several threads at once; runs share the weights and nothing else.
class InferenceModel {
 public:
  /// Throws an Error that names the file and, if operators are not supported, lists all of them. Parts of
  /// the file and of its external data stay mapped as long as the model lives: they must not be changed in place.
  static InferenceModel load(const std::string& path, const InferenceOptions& options = {});
  /// From the bytes of a model file without external data.
  static InferenceModel load_bytes(std::string bytes, const InferenceOptions& options = {});
  InferenceModel(InferenceModel&&) noexcept;
  InferenceModel& operator=(InferenceModel&&) noexcept;
  ~InferenceModel();

  const std::vector<ValueDescription>& inputs() const;
  const std::vector<ValueDescription>& outputs() const;
  const ModelSummary& summary() const;
  /// As they were given.
  const InferenceOptions& options() const;
  /// The metadata properties of the file.
  const std::map<std::string, std::string>& metadata() const;

  /// The outputs for these inputs, in the model's order. Throws an Error that names the input if one does not fit.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;

  /// Writes the model, with its own functions put in place of their calls, as an ONNX file.
  void save(const std::string& path) const;

  /// The kernels that `run` uses for these inputs, in which layouts, how long each takes, and why better ones declined;
  /// the parts of the model in the order of their execution. A node that is executed by itself, outside of compiled
  /// programs, is a part with one step.
  std::vector<ProgramProfile> profile(const std::vector<Tensor>& inputs) const;
  /// The same as text.
  std::string explain(const std::vector<Tensor>& inputs) const;

 private:
  struct Impl;
  friend InferenceModel make_inference_model(std::shared_ptr<const onnx::ModelFile> model,
                                             const InferenceOptions& options);
  explicit InferenceModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Inputs, outputs, metadata, operators and size of a model, for people.
std::string describe(const InferenceModel& model);

}  // namespace thalweg
