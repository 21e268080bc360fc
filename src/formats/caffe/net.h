// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/caffe/text_message.h"

namespace thalweg::caffe {

/// A layer as Caffe's present form (LayerParameter) has it, whichever form the file was written in.
struct Layer {
  std::string name, type;
  std::vector<std::string> bottoms, tops;
  std::shared_ptr<Message> message;
};

/// What the net takes without a layer for it; no dimensions if the file does not say them.
struct NetInput {
  std::string name;
  std::vector<int64_t> dims;
};

struct Net {
  /// For messages.
  std::string file;
  std::string name;
  std::vector<NetInput> inputs;
  /// Those that are there at inference, in the order of the file.
  std::vector<Layer> layers;

  /// How messages begin that are about a layer.
  std::string where(const Layer& layer) const;
};

/// Throws an Error that names the file, and the line or the layer.
Net read_net(std::string_view text, const std::string& file);

/// Rewrites the layers of a net of Caffe's first two forms (V0 and V1, both called "layers") into the present one.
void upgrade_layers(Message& net, const std::string& file);

}  // namespace thalweg::caffe
