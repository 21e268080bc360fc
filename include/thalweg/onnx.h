// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/graph.h"

namespace thalweg::onnx {

/// Writes what the graph computes at inference as an ONNX file, which replaces the file at `path` in one go: in opset
/// 21, or in that of the file that the graph comes from. A metadata property says which weights are trained and that
/// batch norms learn, so that the file can be trained on; dropout is in it, which does nothing at inference. `weight`
/// gives the content of a parameter or state by its name. If the weights are too many for one protocol buffer (about 2
/// GB), they go to `path` + ".data" beside it.
///
/// Throws one Error that lists every node for which ONNX has nothing, before anything is written.
void save(const Graph& graph, const std::function<Tensor(const std::string& name)>& weight, const std::string& path,
          const std::map<std::string, std::string>& metadata = {});

/// The bytes of such a file, as u8. Throws also if they would not fit into one protocol buffer.
Tensor to_bytes(const Graph& graph, const std::function<Tensor(const std::string& name)>& weight,
                const std::map<std::string, std::string>& metadata = {});

/// Writes the graph itself as an ONNX file, with nodes of our own ops: how a model that is to be trained gets from one
/// process to another of the same version. `weight` gives the content of a parameter or state by its name; without it,
/// the graph's own data serve.
void save_exactly(const Graph& graph, const std::string& path,
                  const std::function<Tensor(const std::string& name)>& weight = nullptr,
                  const std::map<std::string, std::string>& metadata = {});

/// What the statistics of batch norms do while a model from a file is trained.
enum class BatchNormTraining {
  kFrozen,  ///< they stay as the file has them, and normalise the batches
  kLearned  ///< batches are normalised by themselves, and the statistics follow them
};
const char* name_of(BatchNormTraining training);
BatchNormTraining batch_norm_training_from_name(const std::string& name);

/// The graph of an ONNX file, weights inside, with the outermost dimension of every input free. Arrays of f32 among the
/// initialisers are trained parameters, unless the file says otherwise. Batch norms learn as asked; if nothing is
/// asked, where the file says so (its nodes are in training mode, or Thalweg wrote it from such a model). Dropout is
/// active while the graph is trained.
///
/// Throws one Error that lists every node which is not supported.
std::unique_ptr<Graph> load_for_training(const std::string& path,
                                         std::optional<BatchNormTraining> batch_norms = std::nullopt);

/// The other files that an ONNX file has tensors in, as it names them, sorted; none for a file that is no model, of
/// which loading it says more.
std::vector<std::string> external_files(const std::string& path);

}  // namespace thalweg::onnx
