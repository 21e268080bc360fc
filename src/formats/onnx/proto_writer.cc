// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/proto_writer.h"

#include "base/text.h"
#include "thalweg/error.h"

namespace thalweg::onnx {
namespace {

void optional_text(WireWriter& writer, uint32_t field, const std::string& text) {
  if (!text.empty()) writer.bytes(field, text);
}

WireWriter pair(const std::pair<std::string, std::string>& entry) {
  WireWriter writer;
  writer.bytes(1, entry.first);
  writer.bytes(2, entry.second);
  return writer;
}

WireWriter opset(const OperatorSetId& id) {
  WireWriter writer;
  writer.bytes(1, id.domain);
  writer.integer(2, id.version);
  return writer;
}

/// The field of TensorProto in which integers of this type are listed.
uint32_t int_field(DataType type) {
  if (type == DataType::kInt64) return 7;
  return type == DataType::kUint32 || type == DataType::kUint64 ? 11 : 5;
}

WireWriter tensor(const TensorProto& proto) {
  WireWriter writer;
  for (const int64_t dim : proto.dims) writer.integer(1, dim);
  writer.integer(2, static_cast<int64_t>(proto.data_type));
  if (!proto.float_data.empty()) writer.packed(4, proto.float_data);
  if (!proto.double_data.empty()) writer.packed(10, proto.double_data);
  if (!proto.int_data.empty()) writer.packed(int_field(proto.data_type), proto.int_data);
  for (const std::string& text : proto.string_data) writer.bytes(6, text);
  optional_text(writer, 8, proto.name);
  if (proto.has_raw_data) writer.borrowed(9, proto.raw_data);
  for (const auto& entry : proto.external_data) writer.message(13, pair(entry));
  if (proto.external) writer.integer(14, 1);
  return writer;
}

WireWriter tensor_type(const TypeProto& proto) {
  WireWriter shape;
  for (const Dimension& dimension : proto.shape) {
    WireWriter dim;
    if (dimension.value >= 0) dim.integer(1, dimension.value);
    if (dimension.value < 0) optional_text(dim, 2, dimension.param);
    shape.message(1, std::move(dim));
  }
  WireWriter writer;
  writer.integer(1, static_cast<int64_t>(proto.elem_type));
  if (proto.has_shape) writer.message(2, std::move(shape));
  return writer;
}

WireWriter type(const TypeProto& proto) {
  using Kind = TypeProto::Kind;
  WireWriter writer;
  if (proto.kind == Kind::kTensor) writer.message(1, tensor_type(proto));
  if ((proto.kind == Kind::kSequence || proto.kind == Kind::kOptional) && proto.element != nullptr) {
    WireWriter element;
    element.message(1, type(*proto.element));
    writer.message(proto.kind == Kind::kSequence ? 4 : 9, std::move(element));
  }
  return writer;
}

WireWriter value_info(const ValueInfoProto& proto) {
  WireWriter writer;
  writer.bytes(1, proto.name);
  writer.message(2, type(proto.type));
  return writer;
}

WireWriter graph(const GraphProto& proto);

WireWriter attribute(const AttributeProto& proto) {
  WireWriter writer;
  writer.bytes(1, proto.name);
  using Type = AttributeProto::Type;
  switch (proto.type) {
    case Type::kFloat: writer.single(2, proto.f); break;
    case Type::kInt: writer.integer(3, proto.i); break;
    case Type::kString: writer.bytes(4, proto.s); break;
    case Type::kTensor: writer.message(5, tensor(*proto.t)); break;
    case Type::kGraph: writer.message(6, graph(*proto.g)); break;
    case Type::kFloats:
      for (const float value : proto.floats) writer.single(7, value);
      break;
    case Type::kInts:
      for (const int64_t value : proto.ints) writer.integer(8, value);
      break;
    case Type::kStrings:
      for (const std::string& value : proto.strings) writer.bytes(9, value);
      break;
    default: raise("attribute ", printable(proto.name), ": its type cannot be written");
  }
  writer.integer(20, static_cast<int64_t>(proto.type));
  return writer;
}

WireWriter node(const NodeProto& proto) {
  WireWriter writer;
  for (const std::string& name : proto.input) writer.bytes(1, name);
  for (const std::string& name : proto.output) writer.bytes(2, name);
  optional_text(writer, 3, proto.name);
  writer.bytes(4, proto.op_type);
  for (const AttributeProto& item : proto.attribute) writer.message(5, attribute(item));
  optional_text(writer, 7, proto.domain);
  return writer;
}

WireWriter graph(const GraphProto& proto) {
  WireWriter writer;
  for (const NodeProto& item : proto.node) writer.message(1, node(item));
  writer.bytes(2, proto.name);
  for (const TensorProto& item : proto.initializer) writer.message(5, tensor(item));
  for (const ValueInfoProto& item : proto.input) writer.message(11, value_info(item));
  for (const ValueInfoProto& item : proto.output) writer.message(12, value_info(item));
  return writer;
}

}  // namespace

WireWriter serialize(const ModelProto& model) {
  WireWriter writer;
  writer.integer(1, model.ir_version);
  optional_text(writer, 2, model.producer_name);
  optional_text(writer, 3, model.producer_version);
  writer.message(7, graph(model.graph));
  for (const OperatorSetId& item : model.opset_import) writer.message(8, opset(item));
  for (const auto& entry : model.metadata_props) writer.message(14, pair(entry));
  return writer;
}

}  // namespace thalweg::onnx
