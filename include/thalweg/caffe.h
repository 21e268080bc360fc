// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "thalweg/graph.h"
#include "thalweg/onnx.h"

namespace thalweg::caffe {

struct LoadOptions {
  /// Of batch norms; nothing: learned where the file says `use_global_stats: false`, else frozen.
  std::optional<onnx::BatchNormTraining> batch_norms = std::nullopt;
  /// What weights are drawn from if there is no file of them, by the fillers of the network.
  uint64_t seed = 0;
};

/// A Caffe network at inference (phase TEST) as a graph in training form, weights inside: `network` is a file in
/// protobuf text (.prototxt), `weights` one in binary protobuf (.caffemodel), of any of Caffe's three forms. Without
/// weights ("") the network starts as its fillers say. Weights are called by their layers, as "conv1.weight" and
/// "conv1.bias"; those with `lr_mult: 0` are not trained. Layers that read data become inputs, with the outermost
/// dimension free; losses and accuracies are left out, so that what they read are outputs.
///
/// Throws an Error that names the file, and the line or the layer; if there are layers that are not supported, all of
/// them.
std::unique_ptr<Graph> load(const std::string& network, const std::string& weights = "",
                            const LoadOptions& options = {});
/// The same from memory; `weights` may be empty.
std::unique_ptr<Graph> load_bytes(const std::string& network, const std::string& weights = "",
                                  const LoadOptions& options = {});

/// True of a name that ends as those of Caffe's networks do.
bool is_network_file(const std::string& path);
/// The file of weights beside a network, which has its name with another ending; "" if there is none.
std::string weights_beside(const std::string& network);

}  // namespace thalweg::caffe
