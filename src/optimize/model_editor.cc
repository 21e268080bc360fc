// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/model_editor.h"

#include <algorithm>

#include "base/text.h"
#include "formats/onnx/model_writer.h"

namespace thalweg {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// True if a graph inside a node, or one inside that, reads `name`.
bool reads_inside(const GraphProto& graph, const std::string& name) {
  const auto reads = [&](const NodeProto& node) {
    return contains(node.input, name) ||
           std::any_of(node.attribute.begin(), node.attribute.end(), [&](const AttributeProto& attribute) {
             return attribute.g != nullptr && reads_inside(*attribute.g, name);
           });
  };
  return std::any_of(graph.node.begin(), graph.node.end(), reads) ||
         std::any_of(graph.output.begin(), graph.output.end(), [&](const auto& info) { return info.name == name; });
}

void collect_names(const GraphProto& graph, std::unordered_set<std::string>& names) {
  for (const auto& info : graph.input) names.insert(info.name);
  for (const auto& tensor : graph.initializer) names.insert(tensor.name);
  for (const NodeProto& node : graph.node) {
    names.insert(node.output.begin(), node.output.end());
    for (const AttributeProto& attribute : node.attribute) {
      if (attribute.g != nullptr) collect_names(*attribute.g, names);
    }
  }
}

/// Before this version every initialiser was an input as well; since then one that is may be given in each run.
constexpr int64_t kInputsAreInputs = 4;

}  // namespace

ModelEditor::ModelEditor(std::shared_ptr<const onnx::ModelFile> source)
    : model_(std::make_shared<onnx::ModelFile>(*source)) {
  // The messages point into the source's memory.
  model_->source_ = std::move(source);
  collect_names(model_->proto.graph, names_);
}

ModelEditor::ModelEditor(const ModelEditor& other)
    : model_(std::make_shared<onnx::ModelFile>(*other.model_)), names_(other.names_) {}

const TensorProto* ModelEditor::find_weight(const std::string& name) const {
  const auto is_it = [&](const auto& item) { return item.name == name; };
  const auto found = std::find_if(graph().initializer.begin(), graph().initializer.end(), is_it);
  if (found == graph().initializer.end() || found->data_type != onnx::DataType::kFloat) return nullptr;
  const bool given = std::any_of(graph().input.begin(), graph().input.end(), is_it);
  return given && model_->proto.ir_version >= kInputsAreInputs ? nullptr : &*found;
}

void ModelEditor::set_opset(int64_t version, int64_t ir_version) {
  for (onnx::OperatorSetId& id : model_->proto.opset_import) {
    if (onnx::normal_domain(id.domain).empty()) id.version = version;
  }
  if (model_->proto.ir_version < kInputsAreInputs) {
    std::unordered_set<std::string> fixed;
    for (const TensorProto& tensor : graph().initializer) fixed.insert(tensor.name);
    std::erase_if(graph().input, [&](const auto& info) { return fixed.count(info.name) > 0; });
  }
  model_->proto.ir_version = std::max(model_->proto.ir_version, ir_version);
}

Tensor ModelEditor::weight(const std::string& name) const {
  const TensorProto* tensor = find_weight(name);
  return tensor != nullptr ? model_->tensor(*tensor) : Tensor();
}

std::optional<std::vector<int64_t>> ModelEditor::weight_dims(const std::string& name) const {
  const TensorProto* tensor = find_weight(name);
  if (tensor == nullptr) return std::nullopt;
  return tensor->dims;
}

std::vector<int> ModelEditor::readers(const std::string& name) const {
  std::vector<int> result;
  for (size_t i = 0; i < graph().node.size(); ++i) {
    const NodeProto& node = graph().node[i];
    if (contains(node.input, name)) result.push_back(static_cast<int>(i));
    for (const AttributeProto& attribute : node.attribute) {
      if (attribute.g != nullptr && reads_inside(*attribute.g, name)) result.push_back(-1);
    }
  }
  for (const auto& info : graph().output) {
    if (info.name == name) result.push_back(-1);
  }
  return result;
}

NodeProto* ModelEditor::producer(const std::string& name) {
  for (NodeProto& node : graph().node) {
    if (contains(node.output, name)) return &node;
  }
  return nullptr;
}

std::string ModelEditor::new_name(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !names_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

std::string ModelEditor::add_initializer(const std::string& wanted, const Tensor& content) {
  TensorProto tensor;
  tensor.name = new_name(wanted);
  tensor.dims = content.shape().dims();
  tensor.data_type = onnx::data_type_of(content.dtype());
  graph().initializer.push_back(tensor);
  model_->made[tensor.name] = content;
  return tensor.name;
}

void ModelEditor::insert_after(const std::string& value, std::vector<NodeProto> nodes) {
  auto place = graph().node.begin();
  for (auto node = graph().node.begin(); node != graph().node.end(); ++node) {
    if (contains(node->output, value)) place = node + 1;
  }
  graph().node.insert(place, std::make_move_iterator(nodes.begin()), std::make_move_iterator(nodes.end()));
}

void ModelEditor::remove_nodes(const std::function<bool(size_t)>& dead) {
  std::vector<NodeProto> kept;
  for (size_t i = 0; i < graph().node.size(); ++i) {
    if (!dead(i)) kept.push_back(std::move(graph().node[i]));
  }
  graph().node = std::move(kept);
}

void ModelEditor::remove_unread_initializers() {
  auto& tensors = graph().initializer;
  const auto unread = [&](const TensorProto& tensor) {
    if (!readers(tensor.name).empty()) return false;
    model_->made.erase(tensor.name);
    const auto is_it = [&](const auto& info) { return info.name == tensor.name; };
    auto& inputs = graph().input;
    inputs.erase(std::remove_if(inputs.begin(), inputs.end(), is_it), inputs.end());
    return true;
  };
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(), unread), tensors.end());
}

void ModelEditor::set_metadata(const std::string& key, const std::string& value) {
  auto& properties = model_->proto.metadata_props;
  properties.erase(std::remove_if(properties.begin(), properties.end(), [&](const auto& p) { return p.first == key; }),
                   properties.end());
  if (!value.empty()) properties.emplace_back(key, value);
}

void ModelEditor::add_output(const std::string& name) {
  onnx::ValueInfoProto info;
  info.name = name;
  info.type.kind = onnx::TypeProto::Kind::kTensor;
  info.type.elem_type = onnx::DataType::kFloat;
  graph().output.push_back(info);
}

uint64_t ModelEditor::weight_bytes() const {
  uint64_t bytes = 0;
  for (const TensorProto& tensor : graph().initializer) {
    const TensorType type = model_->type(tensor);
    bytes += static_cast<uint64_t>(type.shape.num_elements()) * size_of(type.dtype);
  }
  return bytes;
}

std::shared_ptr<const onnx::ModelFile> ModelEditor::snapshot() const {
  return std::make_shared<onnx::ModelFile>(*model_);
}

void ModelEditor::save(const std::string& path) const { onnx::write_model(*model_, path); }

const AttributeProto* find_attribute(const NodeProto& node, const std::string& name) {
  for (const AttributeProto& attribute : node.attribute) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

void remove_attribute(NodeProto& node, const std::string& name) {
  std::erase_if(node.attribute, [&](const AttributeProto& attribute) { return attribute.name == name; });
}

int64_t integer_attribute(const NodeProto& node, const std::string& name, int64_t fallback) {
  const AttributeProto* attribute = find_attribute(node, name);
  return attribute != nullptr ? attribute->i : fallback;
}

float float_attribute(const NodeProto& node, const std::string& name, float fallback) {
  const AttributeProto* attribute = find_attribute(node, name);
  return attribute != nullptr ? attribute->f : fallback;
}

void set_integer_attribute(NodeProto& node, const std::string& name, int64_t value) {
  AttributeProto attribute;
  attribute.name = name;
  attribute.type = AttributeProto::Type::kInt;
  attribute.i = value;
  remove_attribute(node, name);
  node.attribute.push_back(attribute);
}

NodeProto make_node(const std::string& op_type, std::vector<std::string> inputs, std::string output) {
  NodeProto node;
  node.op_type = op_type;
  node.name = output;
  node.input = std::move(inputs);
  node.output = {std::move(output)};
  return node;
}

}  // namespace thalweg
