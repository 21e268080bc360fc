// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/caffe/net.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "formats/caffe/fields.h"

namespace thalweg::caffe {
namespace {

/// Caffe's own limit.
constexpr size_t kMostAxes = 32;

/// Whether a rule holds for a net at inference: phase TEST, level 0, and no stage.
bool holds(const Fields& rule) {
  rule.ignore({"stage"});
  const bool phase = !rule.has("phase") || rule.choice("phase", "TRAIN", {"TRAIN", "TEST"}) == "TEST";
  const bool levels =
      rule.integer("min_level", 0, -Fields::kMost) <= 0 && rule.integer("max_level", 0, -Fields::kMost) >= 0;
  rule.ignore({"not_stage"});
  return phase && levels && rule.count("stage") == 0;
}

bool is_there(const Fields& layer) {
  const std::vector<const Fields*> include = layer.inners("include"), exclude = layer.inners("exclude");
  layer.require(include.empty() || exclude.empty(), "has rules to include and to exclude it: one kind only");
  const auto any = [](const std::vector<const Fields*>& rules) {
    return std::any_of(rules.begin(), rules.end(), [](const Fields* rule) { return holds(*rule); });
  };
  return include.empty() ? !any(exclude) : any(include);
}

/// What may stand beside the parameters of a layer's own kind.
bool is_layer_field(const std::string& name) {
  static const std::set<std::string> kKnown{"name",  "type",  "bottom",  "top",     "loss_weight",   "param",
                                            "blobs", "phase", "include", "exclude", "propagate_down"};
  return kKnown.count(name) > 0 || name.ends_with("_param");
}

void check_fields(const Message& message, const std::string& file) {
  for (const Field& field : message.fields) {
    TW_REQUIRE(is_layer_field(field.name), file, ":", field.line, ": a layer has no field ", printable(field.name));
  }
}

Layer read_layer(const Field& field, const std::string& file) {
  TW_REQUIRE(field.message != nullptr, file, ":", field.line, ": a layer must be a message in braces");
  check_fields(*field.message, file);
  const Fields fields(field.message.get(), file, "the layer of line " + std::to_string(field.line));
  Layer layer;
  layer.name = fields.text("name");
  layer.type = fields.text("type");
  layer.bottoms = fields.texts("bottom");
  layer.tops = fields.texts("top");
  layer.message = field.message;
  TW_REQUIRE(!layer.type.empty(), file, ":", field.line, ": the layer ", printable(layer.name), " has no type");
  return layer;
}

std::vector<int64_t> read_dims(const Fields& shape) {
  const std::vector<int64_t> dims = shape.integers("dim");
  shape.require(dims.size() <= kMostAxes, "has ", dims.size(), " dimensions; at most ", kMostAxes, " are possible");
  return dims;
}

/// `input:` with `input_shape {...}`, or with four `input_dim:` each.
std::vector<NetInput> read_inputs(const Fields& net) {
  std::vector<NetInput> inputs;
  for (const std::string& name : net.texts("input")) inputs.push_back({name, {}});
  const std::vector<const Fields*> shapes = net.inners("input_shape");
  const std::vector<int64_t> dims = net.integers("input_dim");
  net.require(shapes.empty() || dims.empty(), "has input_shape and input_dim: one kind only");
  net.require(shapes.empty() || shapes.size() == inputs.size(), "has ", shapes.size(), " input_shape for ",
              inputs.size(), " inputs");
  net.require(dims.empty() || dims.size() == 4 * inputs.size(), "has ", dims.size(), " input_dim for ", inputs.size(),
              " inputs, each of which takes 4");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!shapes.empty()) inputs[i].dims = read_dims(*shapes[i]);
    if (!dims.empty())
      inputs[i].dims.assign(dims.begin() + static_cast<long>(4 * i), dims.begin() + static_cast<long>(4 * i + 4));
  }
  return inputs;
}

void require_unique_names(const Net& net) {
  std::set<std::string> names;
  for (const Layer& layer : net.layers) {
    TW_REQUIRE(names.insert(layer.name).second, net.file, ": two layers are named ", printable(layer.name));
  }
}

}  // namespace

std::string Net::where(const Layer& layer) const {
  return file + ":" + std::to_string(layer.message->line) + ": layer " + printable(layer.name) + " (" + layer.type +
         ")";
}

Net read_net(std::string_view text, const std::string& file) {
  Message message = parse_text_message(text, file);
  upgrade_layers(message, file);
  const Fields fields(&message, file, "the net");
  // None of these changes what a net computes at inference.
  fields.ignore({"force_backward", "state", "debug_info", "layer"});
  Net net;
  net.file = file;
  net.name = fields.text("name", "net");
  net.inputs = read_inputs(fields);
  for (const Field* field : message.all("layer")) {
    Layer layer = read_layer(*field, file);
    if (is_there(Fields(field->message.get(), net.where(layer), "its rules"))) net.layers.push_back(std::move(layer));
  }
  fields.require_all_asked();
  TW_REQUIRE(!net.layers.empty(), file, ": there is no layer in it: it is no Caffe network, or not one for inference");
  require_unique_names(net);
  return net;
}

}  // namespace thalweg::caffe
