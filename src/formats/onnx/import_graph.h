// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "formats/onnx/model_file.h"
#include "tensor/stored_weight.h"
#include "thalweg/onnx.h"

namespace thalweg::onnx {

/// How messages name an ONNX node: its operator, domain and name, or its first output if it has no name.
std::string describe(const NodeProto& node);

/// An attribute of nodes that behave in another way while the model is trained: batch norms whose statistics, states of
/// the graph, learn, and dropout.
inline constexpr const char* kLearns = "learns";

/// A model as a graph, with dimensions free where the file does not say them.
struct ImportedModel {
  /// The file's, for messages.
  std::string name;
  /// Of the default domain; 0 if the file has a graph of our own ops.
  int64_t opset = 0;
  /// Every ONNX node is a node of it, which is made of others when the graph is specialised; graphs inside nodes are
  /// graphs. Arrays of floats among the initialisers are parameters without content, which `weights` has.
  std::unique_ptr<Graph> graph;
  /// They stay in the file until they are fetched.
  std::vector<StoredWeight> weights;
  /// The program that wrote the file, as "pytorch 2.9".
  std::string producer;
  std::map<std::string, std::string> metadata;
  /// Of inputs and outputs by their names: the file's names of unknown dimensions, "" where it has none.
  std::map<std::string, std::vector<std::string>> dimension_names;
};

/// `batch_norms`: as load_for_training. Throws an Error that lists every node, of graphs inside nodes too, for which
/// there is no operator, or one that names the node that reads a value which nothing makes.
ImportedModel import_model(const std::shared_ptr<const ModelFile>& model,
                           std::optional<BatchNormTraining> batch_norms = std::nullopt);

/// The file as load_for_training gives it, with all that it says besides. The weights lie in the graph.
ImportedModel import_for_training(const std::string& path, std::optional<BatchNormTraining> batch_norms);

}  // namespace thalweg::onnx
