// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "thalweg/graph.h"

/// How a model that is to be trained gets from one process to another.
namespace thalweg {

/// Writes a graph in training form as a safetensors file, the structure in its metadata, and replaces the file at
/// `path` in one go. `weight` gives the content of a parameter or state by its name; without it, the graph's own data
/// serve. For processes of the same version: a model that is to be kept is saved as ONNX (Model::save).
void save_graph(const Graph& graph, const std::string& path,
                const std::function<Tensor(const std::string& name)>& weight = nullptr);

/// The same graph, weights inside. Throws Error that names the file if it is no such file or one of another version.
std::unique_ptr<Graph> load_graph(const std::string& path);

}  // namespace thalweg
