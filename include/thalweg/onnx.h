// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "thalweg/graph.h"

namespace thalweg::onnx {

/// Writes what the graph computes at inference as an ONNX file (opset 21), which replaces the file at `path` in one go.
/// `weight` gives the content of a parameter or state by its name. If the weights are too many for one protocol buffer
/// (about 2 GB), they go to `path` + ".data" beside it.
///
/// Throws one Error that lists every node for which ONNX has nothing, before anything is written.
void save(const Graph& graph, const std::function<Tensor(const std::string& name)>& weight, const std::string& path,
          const std::map<std::string, std::string>& metadata = {});

/// The bytes of such a file, as u8. Throws also if they would not fit into one protocol buffer.
Tensor to_bytes(const Graph& graph, const std::function<Tensor(const std::string& name)>& weight,
                const std::map<std::string, std::string>& metadata = {});

/// The graph of an ONNX file in a form that can be trained: the outermost dimension of every input is free, and arrays
/// of f32 among the initialisers are parameters. Batch norms keep the statistics that they have; dropout does nothing.
///
/// Throws one Error that lists every node which is not supported, or whose shapes depend on the content of data.
std::unique_ptr<Graph> load_for_training(const std::string& path);

/// The other files that an ONNX file has tensors in, as it names them, sorted; none for a file that is no model, of
/// which loading it says more.
std::vector<std::string> external_files(const std::string& path);

}  // namespace thalweg::onnx
