// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/proto_reader.h"

#include "formats/wire.h"

namespace thalweg::onnx {
namespace {

using formats::WireReader;

/// Graphs inside attributes of graphs, and types inside types. Deeper nesting is an attempt to exhaust the stack.
constexpr int kMaxDepth = 50;

void check_depth(const WireReader& reader, int depth) {
  if (depth > kMaxDepth) reader.fail("messages are nested more than " + std::to_string(kMaxDepth) + " deep");
}

std::pair<std::string, std::string> read_pair(WireReader reader) {
  std::pair<std::string, std::string> pair;
  while (reader.next()) {
    if (reader.field() == 1) pair.first = reader.text();
    if (reader.field() == 2) pair.second = reader.text();
  }
  return pair;
}

OperatorSetId read_opset(WireReader reader) {
  OperatorSetId opset;
  while (reader.next()) {
    if (reader.field() == 1) opset.domain = reader.text();
    if (reader.field() == 2) opset.version = reader.integer();
  }
  return opset;
}

TensorProto read_tensor(WireReader reader) {
  TensorProto tensor;
  while (reader.next()) {
    switch (reader.field()) {
      case 1: reader.append(tensor.dims); break;
      case 2: tensor.data_type = static_cast<DataType>(reader.integer()); break;
      case 3: reader.fail("a tensor is stored in segments, which is not supported,");
      case 4: reader.append(tensor.float_data); break;
      case 5:
      case 7:
      case 11: reader.append(tensor.int_data); break;
      case 6: tensor.string_data.push_back(reader.text()); break;
      case 8: tensor.name = reader.text(); break;
      case 9:
        tensor.raw_data = reader.bytes();
        tensor.has_raw_data = true;
        break;
      case 10: reader.append(tensor.double_data); break;
      case 13: tensor.external_data.push_back(read_pair(reader.message())); break;
      case 14: tensor.external = reader.integer() == 1; break;
      default: break;
    }
  }
  return tensor;
}

Dimension read_dimension(WireReader reader) {
  Dimension dimension;
  while (reader.next()) {
    if (reader.field() == 1) {
      dimension.value = reader.integer();
      if (dimension.value < 0) dimension.value = -1;
    }
    if (reader.field() == 2) dimension.param = reader.text();
  }
  return dimension;
}

TypeProto read_type(WireReader reader, int depth);

void read_tensor_type(WireReader reader, TypeProto& type) {
  while (reader.next()) {
    if (reader.field() == 1) type.elem_type = static_cast<DataType>(reader.integer());
    if (reader.field() != 2) continue;
    type.has_shape = true;
    WireReader shape = reader.message();
    while (shape.next()) {
      if (shape.field() == 1) type.shape.push_back(read_dimension(shape.message()));
    }
  }
}

void read_element_type(WireReader reader, TypeProto& type, int depth) {
  while (reader.next()) {
    if (reader.field() == 1) type.element = std::make_shared<TypeProto>(read_type(reader.message(), depth + 1));
  }
}

TypeProto read_type(WireReader reader, int depth) {
  check_depth(reader, depth);
  TypeProto type;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        type.kind = TypeProto::Kind::kTensor;
        read_tensor_type(reader.message(), type);
        break;
      case 4:
        type.kind = TypeProto::Kind::kSequence;
        read_element_type(reader.message(), type, depth);
        break;
      case 5: type.kind = TypeProto::Kind::kMap; break;
      case 7: type.kind = TypeProto::Kind::kOpaque; break;
      case 8: type.kind = TypeProto::Kind::kSparseTensor; break;
      case 9:
        type.kind = TypeProto::Kind::kOptional;
        read_element_type(reader.message(), type, depth);
        break;
      default: break;
    }
  }
  return type;
}

ValueInfoProto read_value_info(WireReader reader, int depth) {
  ValueInfoProto info;
  while (reader.next()) {
    if (reader.field() == 1) info.name = reader.text();
    if (reader.field() == 2) info.type = read_type(reader.message(), depth);
  }
  return info;
}

GraphProto read_graph(WireReader reader, int depth);

AttributeProto read_attribute(WireReader reader, int depth) {
  AttributeProto attribute;
  while (reader.next()) {
    switch (reader.field()) {
      case 1: attribute.name = reader.text(); break;
      case 2: attribute.f = reader.single(); break;
      case 3: attribute.i = reader.integer(); break;
      case 4: attribute.s = reader.text(); break;
      case 5: attribute.t = std::make_shared<TensorProto>(read_tensor(reader.message())); break;
      case 6: attribute.g = std::make_shared<GraphProto>(read_graph(reader.message(), depth + 1)); break;
      case 7: reader.append(attribute.floats); break;
      case 8: reader.append(attribute.ints); break;
      case 9: attribute.strings.push_back(reader.text()); break;
      case 14: attribute.tp = std::make_shared<TypeProto>(read_type(reader.message(), depth)); break;
      case 20: attribute.type = static_cast<AttributeProto::Type>(reader.integer()); break;
      case 21: attribute.ref_attr_name = reader.text(); break;
      default: break;
    }
  }
  return attribute;
}

NodeProto read_node(WireReader reader, int depth) {
  NodeProto node;
  while (reader.next()) {
    switch (reader.field()) {
      case 1: node.input.push_back(reader.text()); break;
      case 2: node.output.push_back(reader.text()); break;
      case 3: node.name = reader.text(); break;
      case 4: node.op_type = reader.text(); break;
      case 5: node.attribute.push_back(read_attribute(reader.message(), depth)); break;
      case 7: node.domain = reader.text(); break;
      case 8: node.overload = reader.text(); break;
      default: break;
    }
  }
  return node;
}

/// The name of a sparse initialiser is that of its values.
std::string read_sparse_name(WireReader reader) {
  std::string name;
  while (reader.next()) {
    if (reader.field() == 1) name = read_tensor(reader.message()).name;
  }
  return name;
}

GraphProto read_graph(WireReader reader, int depth) {
  check_depth(reader, depth);
  GraphProto graph;
  while (reader.next()) {
    switch (reader.field()) {
      case 1: graph.node.push_back(read_node(reader.message(), depth)); break;
      case 2: graph.name = reader.text(); break;
      case 5: graph.initializer.push_back(read_tensor(reader.message())); break;
      case 11: graph.input.push_back(read_value_info(reader.message(), depth)); break;
      case 12: graph.output.push_back(read_value_info(reader.message(), depth)); break;
      case 13: graph.value_info.push_back(read_value_info(reader.message(), depth)); break;
      case 15: graph.sparse_initializer.push_back(read_sparse_name(reader.message())); break;
      default: break;
    }
  }
  return graph;
}

FunctionProto read_function(WireReader reader) {
  FunctionProto function;
  while (reader.next()) {
    switch (reader.field()) {
      case 1: function.name = reader.text(); break;
      case 4: function.input.push_back(reader.text()); break;
      case 5: function.output.push_back(reader.text()); break;
      case 7: function.node.push_back(read_node(reader.message(), 1)); break;
      case 9: function.opset_import.push_back(read_opset(reader.message())); break;
      case 10: function.domain = reader.text(); break;
      case 11: function.attribute_proto.push_back(read_attribute(reader.message(), 1)); break;
      case 13: function.overload = reader.text(); break;
      default: break;
    }
  }
  return function;
}

}  // namespace

ModelProto parse_model(std::string_view bytes, const std::string& where) {
  ModelProto model;
  WireReader reader(bytes, where);
  bool has_graph = false;
  while (reader.next()) {
    switch (reader.field()) {
      case 1: model.ir_version = reader.integer(); break;
      case 2: model.producer_name = reader.text(); break;
      case 3: model.producer_version = reader.text(); break;
      case 6: model.doc_string = reader.text(); break;
      case 7:
        model.graph = read_graph(reader.message(), 0);
        has_graph = true;
        break;
      case 8: model.opset_import.push_back(read_opset(reader.message())); break;
      case 14: model.metadata_props.push_back(read_pair(reader.message())); break;
      case 25: model.functions.push_back(read_function(reader.message())); break;
      default: break;
    }
  }
  if (!has_graph) reader.fail("there is no graph in it: it is cut short, or not an ONNX model;");
  return model;
}

TensorProto parse_tensor(std::string_view bytes, const std::string& where) { return read_tensor({bytes, where}); }

}  // namespace thalweg::onnx
