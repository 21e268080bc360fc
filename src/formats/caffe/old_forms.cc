// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Caffe had two forms before the present one, both in fields called "layers": V1 has an enumeration for the type and
// learning rates beside the parameters; V0 has all parameters of all types in one message "layer" inside.
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "formats/caffe/net.h"
#include "thalweg/error.h"

namespace thalweg::caffe {
namespace {

const std::map<std::string, std::string>& v1_types() {
  static const std::map<std::string, std::string> kTypes{
      {"ABSVAL", "AbsVal"},
      {"ACCURACY", "Accuracy"},
      {"ARGMAX", "ArgMax"},
      {"BNLL", "BNLL"},
      {"CONCAT", "Concat"},
      {"CONTRASTIVE_LOSS", "ContrastiveLoss"},
      {"CONVOLUTION", "Convolution"},
      {"CROP", "Crop"},
      {"DATA", "Data"},
      {"DECONVOLUTION", "Deconvolution"},
      {"DROPOUT", "Dropout"},
      {"DUMMY_DATA", "DummyData"},
      {"ELTWISE", "Eltwise"},
      {"EUCLIDEAN_LOSS", "EuclideanLoss"},
      {"EXP", "Exp"},
      {"FLATTEN", "Flatten"},
      {"HDF5_DATA", "HDF5Data"},
      {"HDF5_OUTPUT", "HDF5Output"},
      {"HINGE_LOSS", "HingeLoss"},
      {"IM2COL", "Im2col"},
      {"IMAGE_DATA", "ImageData"},
      {"INFOGAIN_LOSS", "InfogainLoss"},
      {"INNER_PRODUCT", "InnerProduct"},
      {"LRN", "LRN"},
      {"MEMORY_DATA", "MemoryData"},
      {"MULTINOMIAL_LOGISTIC_LOSS", "MultinomialLogisticLoss"},
      {"MVN", "MVN"},
      {"POOLING", "Pooling"},
      {"POWER", "Power"},
      {"RELU", "ReLU"},
      {"SIGMOID", "Sigmoid"},
      {"SIGMOID_CROSS_ENTROPY_LOSS", "SigmoidCrossEntropyLoss"},
      {"SILENCE", "Silence"},
      {"SLICE", "Slice"},
      {"SOFTMAX", "Softmax"},
      {"SOFTMAX_LOSS", "SoftmaxWithLoss"},
      {"SPLIT", "Split"},
      {"TANH", "TanH"},
      {"THRESHOLD", "Threshold"},
      {"WINDOW_DATA", "WindowData"},
  };
  return kTypes;
}

/// A V0 type in the present form, and the message for its parameters.
struct V0Type {
  std::string type, parameters;
};

const std::map<std::string, V0Type>& v0_types() {
  static const std::map<std::string, V0Type> kTypes{
      {"accuracy", {"Accuracy", "accuracy_param"}},
      {"bnll", {"BNLL", ""}},
      {"concat", {"Concat", "concat_param"}},
      {"conv", {"Convolution", "convolution_param"}},
      {"data", {"Data", "data_param"}},
      {"dropout", {"Dropout", "dropout_param"}},
      {"eltwise", {"Eltwise", "eltwise_param"}},
      {"euclidean_loss", {"EuclideanLoss", ""}},
      {"flatten", {"Flatten", ""}},
      {"hdf5_data", {"HDF5Data", "hdf5_data_param"}},
      {"hdf5_output", {"HDF5Output", "hdf5_output_param"}},
      {"hinge_loss", {"HingeLoss", "hinge_loss_param"}},
      {"images", {"ImageData", "image_data_param"}},
      {"infogain_loss", {"InfogainLoss", "infogain_loss_param"}},
      {"innerproduct", {"InnerProduct", "inner_product_param"}},
      {"lrn", {"LRN", "lrn_param"}},
      {"multinomial_logistic_loss", {"MultinomialLogisticLoss", ""}},
      {"padding", {"Padding", "padding_param"}},
      {"pool", {"Pooling", "pooling_param"}},
      {"relu", {"ReLU", ""}},
      {"sigmoid", {"Sigmoid", ""}},
      {"softmax", {"Softmax", ""}},
      {"softmax_loss", {"SoftmaxWithLoss", ""}},
      {"split", {"Split", ""}},
      {"tanh", {"TanH", ""}},
      {"window_data", {"WindowData", "window_data_param"}},
  };
  return kTypes;
}

const std::map<std::string, std::string>& v0_field_names() {
  static const std::map<std::string, std::string> kNames{{"biasterm", "bias_term"},   {"kernelsize", "kernel_size"},
                                                         {"batchsize", "batch_size"}, {"meanfile", "mean_file"},
                                                         {"cropsize", "crop_size"},   {"shuffle_images", "shuffle"}};
  return kNames;
}

std::shared_ptr<Message> message_at(int line) {
  auto message = std::make_shared<Message>();
  message->line = line;
  return message;
}

/// Learning rates, decays and names of shared weights, as one `param` for each weight.
void add_weight_settings(const Message& from, Message& to) {
  const std::vector<const Field*> rates = from.all("blobs_lr"), decays = from.all("weight_decay"),
                                  names = from.all("param");
  const size_t count = std::max({rates.size(), decays.size(), names.size()});
  for (size_t i = 0; i < count; ++i) {
    auto param = message_at(to.line);
    if (i < names.size()) param->add("name", names[i]->text, names[i]->line, true);
    if (i < rates.size()) param->add("lr_mult", rates[i]->text, rates[i]->line);
    if (i < decays.size()) param->add("decay_mult", decays[i]->text, decays[i]->line);
    to.add("param", std::move(param), to.line);
  }
}

bool is_weight_setting(const std::string& name) {
  static const std::set<std::string> kNames{"blobs_lr", "weight_decay", "param", "blob_share_mode"};
  return kNames.count(name) > 0;
}

void copy_field(const Field& field, const std::string& name, Message& to) {
  to.fields.push_back(field);
  to.fields.back().name = name;
}

std::shared_ptr<Message> upgrade_v1(const Message& old) {
  auto layer = message_at(old.line);
  for (const Field& field : old.fields) {
    if (is_weight_setting(field.name)) continue;
    copy_field(field, field.name, *layer);
    if (field.name != "type") continue;
    const auto known = v1_types().find(field.text);
    if (known != v1_types().end()) layer->fields.back().text = known->second;
  }
  add_weight_settings(old, *layer);
  return layer;
}

std::shared_ptr<Message> upgrade_v0(const Message& old, const Message& inner, const std::string& file) {
  auto layer = message_at(old.line);
  for (const Field& field : old.fields) {
    if (field.name != "layer") copy_field(field, field.name, *layer);
  }
  const Field* type = inner.find("type");
  TW_REQUIRE(type != nullptr, file, ":", inner.line, ": a layer has no type");
  const auto known = v0_types().find(type->text);
  const V0Type now = known == v0_types().end() ? V0Type{type->text, ""} : known->second;
  layer->add("type", now.type, type->line, true);
  auto parameters = message_at(inner.line);
  for (const Field& field : inner.fields) {
    if (field.name == "type" || is_weight_setting(field.name)) continue;
    if (field.name == "name" || field.name == "blobs") {
      copy_field(field, field.name, *layer);
      continue;
    }
    const auto renamed = v0_field_names().find(field.name);
    copy_field(field, renamed == v0_field_names().end() ? field.name : renamed->second, *parameters);
  }
  if (!parameters->fields.empty()) {
    TW_REQUIRE(!now.parameters.empty() || known == v0_types().end(), file, ":", parameters->fields[0].line,
               ": layers of type ", printable(type->text), " have no field ", printable(parameters->fields[0].name));
    if (!now.parameters.empty()) layer->add(now.parameters, parameters, inner.line);
  }
  add_weight_settings(inner, *layer);
  return layer;
}

/// V0 pads by layers of their own, each of which becomes part of the convolution that reads it.
void join_padding(std::vector<std::shared_ptr<Message>>& layers, const std::string& file) {
  std::map<std::string, const Message*> paddings;
  std::vector<std::shared_ptr<Message>> kept;
  for (std::shared_ptr<Message>& layer : layers) {
    const Field *type = layer->find("type"), *bottom = layer->find("bottom"), *top = layer->find("top");
    if (type->text == "Padding" && bottom != nullptr && top != nullptr) {
      paddings[top->text] = layer.get();
      kept.push_back(layer);
      continue;
    }
    const auto padding = bottom == nullptr ? paddings.end() : paddings.find(bottom->text);
    if (padding != paddings.end()) {
      TW_REQUIRE(type->text == "Convolution", file, ":", layer->line, ": only a convolution can read what the padding ",
                 "of line ", padding->second->line, " makes");
      for (Field& field : layer->fields) {
        if (field.name == "bottom") field.text = padding->second->find("bottom")->text;
        if (field.name != "convolution_param") continue;
        const Field* parameters = padding->second->find("padding_param");
        const Field* pad = parameters == nullptr ? nullptr : parameters->message->find("pad");
        if (pad != nullptr) field.message->add("pad", pad->text, pad->line);
      }
    }
    kept.push_back(layer);
  }
  std::erase_if(kept, [](const auto& layer) { return layer->find("type")->text == "Padding"; });
  layers = std::move(kept);
}

}  // namespace

void upgrade_layers(Message& net, const std::string& file) {
  if (net.find("layers") == nullptr) return;
  TW_REQUIRE(net.find("layer") == nullptr, file, ":", net.find("layer")->line,
             ": the net has layers of Caffe's present form (layer) and of an earlier one (layers): one kind only");
  std::vector<std::shared_ptr<Message>> layers;
  for (const Field* field : net.all("layers")) {
    TW_REQUIRE(field->message != nullptr, file, ":", field->line, ": a layer must be a message in braces");
    const Field* inner = field->message->find("layer");
    TW_REQUIRE(inner == nullptr || inner->message != nullptr, file, ":", field->line,
               ": a layer must be a message in braces");
    layers.push_back(inner == nullptr ? upgrade_v1(*field->message)
                                      : upgrade_v0(*field->message, *inner->message, file));
    TW_REQUIRE(layers.back()->find("type") != nullptr, file, ":", field->line, ": a layer has no type");
  }
  join_padding(layers, file);
  std::erase_if(net.fields, [](const Field& field) { return field.name == "layers"; });
  for (std::shared_ptr<Message>& layer : layers) {
    const int line = layer->line;
    net.add("layer", std::move(layer), line);
  }
}

}  // namespace thalweg::caffe
