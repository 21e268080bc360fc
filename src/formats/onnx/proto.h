// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// ONNX's messages as plain structs: the parts of onnx.proto that decide what a model computes, and its metadata.
/// Names follow onnx.proto.
namespace thalweg::onnx {

using StringPairs = std::vector<std::pair<std::string, std::string>>;

/// TensorProto.DataType.
enum class DataType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26
};

struct TensorProto {
  std::string name;
  std::vector<int64_t> dims;
  DataType data_type = DataType::kUndefined;
  bool external = false;
  StringPairs external_data;
  bool has_raw_data = false;
  /// In the mapped file, or in memory of whoever writes the tensor.
  std::string_view raw_data;
  std::vector<float> float_data;
  std::vector<double> double_data;
  /// int32_data, int64_data or uint64_data, whichever the element type has.
  std::vector<int64_t> int_data;
  std::vector<std::string> string_data;
};

struct Dimension {
  int64_t value = -1;  ///< -1: unknown
  std::string param;   ///< the name of an unknown one, if it has any
};

struct TypeProto {
  enum class Kind { kNone, kTensor, kSequence, kMap, kOptional, kSparseTensor, kOpaque };
  Kind kind = Kind::kNone;
  DataType elem_type = DataType::kUndefined;  ///< of a tensor
  bool has_shape = false;
  std::vector<Dimension> shape;
  std::shared_ptr<TypeProto> element;  ///< of a sequence or an optional
};

struct ValueInfoProto {
  std::string name;
  TypeProto type;
};

struct GraphProto;

struct AttributeProto {
  enum class Type : int32_t {
    kUndefined = 0,
    kFloat = 1,
    kInt = 2,
    kString = 3,
    kTensor = 4,
    kGraph = 5,
    kFloats = 6,
    kInts = 7,
    kStrings = 8,
    kTensors = 9,
    kGraphs = 10,
    kSparseTensor = 11,
    kTypeProto = 13
  };
  std::string name;
  std::string ref_attr_name;  ///< inside a function: takes the value of the caller's attribute of this name
  Type type = Type::kUndefined;
  float f = 0;
  int64_t i = 0;
  std::string s;
  std::shared_ptr<TensorProto> t;
  std::shared_ptr<GraphProto> g;
  std::shared_ptr<TypeProto> tp;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
};

struct NodeProto {
  std::string name;
  std::string op_type;
  std::string domain;
  std::string overload;
  std::vector<std::string> input;
  std::vector<std::string> output;
  std::vector<AttributeProto> attribute;
};

struct GraphProto {
  std::string name;
  std::vector<NodeProto> node;
  std::vector<TensorProto> initializer;
  /// Names of initialisers stored as sparse tensors, which are not read.
  std::vector<std::string> sparse_initializer;
  std::vector<ValueInfoProto> input;
  std::vector<ValueInfoProto> output;
  std::vector<ValueInfoProto> value_info;
};

struct OperatorSetId {
  std::string domain;
  int64_t version = 0;
};

struct FunctionProto {
  std::string name;
  std::string domain;
  std::string overload;
  std::vector<std::string> input;
  std::vector<std::string> output;
  std::vector<NodeProto> node;
  std::vector<AttributeProto> attribute_proto;  ///< attributes with defaults
  std::vector<OperatorSetId> opset_import;
};

struct ModelProto {
  int64_t ir_version = 0;
  std::vector<OperatorSetId> opset_import;
  std::string producer_name;
  std::string producer_version;
  std::string doc_string;
  GraphProto graph;
  std::vector<FunctionProto> functions;
  StringPairs metadata_props;
};

}  // namespace thalweg::onnx
