// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "formats/onnx/proto_reader.h"
#include "formats/onnx/small_model.h"
#include "formats/onnx/tensor_data.h"
#include "support/error_text.h"
#include "support/temporary_directory.h"
#include "thalweg/onnx.h"

namespace thalweg::onnx {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace thalweg::testing;

TEST(OnnxProto, ReadsWhatItWrote) {
  ModelProto model = small_model();
  AttributeProto attribute;
  attribute.name = "k";
  attribute.type = AttributeProto::Type::kInts;
  attribute.ints = {1, -2};
  model.graph.node[0].attribute = {attribute};
  const std::string bytes = bytes_of(model);
  const ModelProto read = parse_model(bytes, "m.onnx");
  EXPECT_EQ(read.ir_version, 8);
  EXPECT_EQ(read.opset_import.at(0).version, 17);
  EXPECT_EQ(read.metadata_props, model.metadata_props);
  ASSERT_EQ(read.graph.node.size(), 2U);
  EXPECT_EQ(read.graph.node[0].op_type, "Add");
  EXPECT_THAT(read.graph.node[0].input, ElementsAre("x", "b"));
  EXPECT_THAT(read.graph.node[0].attribute.at(0).ints, ElementsAre(1, -2));
  EXPECT_EQ(read.graph.input.at(0).type.shape.at(0).param, "N");
  EXPECT_EQ(read.graph.input.at(0).type.shape.at(1).value, 2);
  EXPECT_EQ(read.graph.initializer.at(0).raw_data, model.graph.initializer[0].raw_data);
  EXPECT_EQ(bytes_of(read), bytes);
}

TEST(OnnxProto, EveryTruncationIsAnErrorOrAShorterModel) {
  const std::string whole = bytes_of(small_model());
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    const std::string text = error_text([&] {
      // Between two fields of the outermost message the format itself cannot tell that something is missing.
      const ModelProto model = parse_model(cut, "cut.onnx");
      raise("cut.onnx: ", model.graph.node.size(), " nodes");
    });
    EXPECT_THAT(text, HasSubstr("cut.onnx")) << length;
  }
}

TEST(OnnxProto, RandomDamageNeverDoesMoreThanThrow) {
  const std::string whole = bytes_of(small_model());
  std::mt19937 random(20250102);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (unsigned i = 0; i < 1 + random() % 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (error_text([&] { parse_model(bytes, "bad.onnx"); }) != "no error") ++refused;
  }
  EXPECT_GT(refused, 2'000);
  EXPECT_LT(refused, 20'000);
}

TEST(OnnxProto, DeepNestingIsRefused) {
  WireWriter graph;
  graph.bytes(2, "innermost");
  for (int depth = 0; depth < 100; ++depth) {
    WireWriter attribute, node, outer;
    attribute.message(6, graph);
    node.message(5, attribute);
    outer.message(1, node);
    graph = outer;
  }
  WireWriter model;
  model.message(7, graph);
  std::string bytes;
  model.emit([&](std::string_view piece) { bytes += piece; });
  EXPECT_THAT(error_text([&] { parse_model(bytes, "deep.onnx"); }), HasSubstr("nested more than"));
}

TEST(OnnxProto, WhatIsNoModelIsAnError) {
  EXPECT_THAT(error_text([] { parse_model("", "empty.onnx"); }), HasSubstr("there is no graph"));
  EXPECT_THAT(error_text([] { parse_model("PK\x03\x04 a zip file", "zip.onnx"); }), HasSubstr("zip.onnx"));
}

std::string tensor_error(const TensorProto& proto, const std::filesystem::path& folder = {}) {
  return error_text([&] { TensorReader(nullptr, folder).read(proto); });
}

TEST(OnnxTensor, ShapesThatDoNotFit) {
  TensorProto tensor = small_model().graph.initializer[0];
  EXPECT_EQ(tensor_error(tensor), "no error");
  tensor.dims = {3};
  EXPECT_THAT(tensor_error(tensor), AllOf(HasSubstr("\"b\""), HasSubstr("does not fit its 8 bytes")));
  tensor.dims = {-2};
  EXPECT_THAT(tensor_error(tensor), HasSubstr("dimension -2 is negative"));
  tensor.dims = {int64_t{1} << 40, 2};
  EXPECT_THAT(tensor_error(tensor), HasSubstr("does not fit"));
  tensor.dims = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_THAT(tensor_error(tensor), HasSubstr("more elements than can be counted"));
  tensor.dims = {2};
  tensor.has_raw_data = false;
  tensor.float_data = {1.0F};
  EXPECT_THAT(tensor_error(tensor), HasSubstr("does not fit its 1 values"));
  tensor.data_type = DataType::kString;
  tensor.string_data = {"a"};
  EXPECT_THAT(tensor_error(tensor), HasSubstr("does not fit its 1 values"));
  tensor.string_data = {"a", "b"};
  EXPECT_EQ(tensor_error(tensor), "no error");
  tensor.has_raw_data = true;
  EXPECT_THAT(tensor_error(tensor), HasSubstr("cannot be raw data"));
  tensor.data_type = DataType::kUndefined;
  EXPECT_THAT(tensor_error(tensor), HasSubstr("UNDEFINED is not supported"));
}

TEST(OnnxTensor, SmallNumbersShareBytes) {
  TensorReader reader(nullptr, {});
  TensorProto tensor;
  tensor.name = "few bits";
  tensor.dims = {5};
  tensor.data_type = DataType::kInt4;
  const char nibbles[] = {'\x21', '\xf3', '\x08'};
  tensor.has_raw_data = true;
  tensor.raw_data = {nibbles, 3};
  const Tensor wide = reader.read(tensor).to(DType::kF32);
  const std::vector<float> expected{1, 2, 3, -1, -8};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(wide.data<float>()[i], expected[static_cast<size_t>(i)]);
  // As they were, but for the half of the last byte that nobody uses.
  const Tensor packed = packed_bytes(reader.read(tensor));
  ASSERT_EQ(packed.num_bytes(), 3U);
  EXPECT_EQ(std::string(static_cast<const char*>(packed.raw()), 3), std::string(nibbles, 3));
  tensor.dims = {7};
  EXPECT_THAT(tensor_error(tensor), HasSubstr("does not fit its 3 bytes"));
  tensor.has_raw_data = false;
  tensor.data_type = DataType::kUint2;
  tensor.int_data = {0x1b, 2};
  EXPECT_EQ(reader.read(tensor).to(DType::kI64).data<int64_t>()[0], 3);
  tensor.int_data = {0x1b};
  EXPECT_THAT(tensor_error(tensor), HasSubstr("does not fit its 1 values"));
}

TEST(OnnxTensor, BoolsMustBeBools) {
  TensorProto tensor;
  tensor.name = "flags";
  tensor.dims = {2};
  tensor.data_type = DataType::kBool;
  tensor.has_raw_data = true;
  tensor.raw_data = "\x01\x02";
  EXPECT_THAT(tensor_error(tensor), HasSubstr("element 1 is neither true nor false"));
}

TensorProto external(const std::string& location, const std::string& offset = "0", const std::string& length = "8") {
  TensorProto tensor;
  tensor.name = "w";
  tensor.dims = {2};
  tensor.data_type = DataType::kFloat;
  tensor.external = true;
  tensor.external_data = {{"location", location}, {"offset", offset}, {"length", length}};
  return tensor;
}

TEST(OnnxTensor, ExternalDataStaysMapped) {
  const TemporaryDirectory directory;
  const float values[4] = {1, 2, 3, 4};
  write_bytes(directory / "w.bin", std::string(reinterpret_cast<const char*>(values), sizeof values));
  const Tensor tensor = TensorReader(nullptr, directory.path()).read(external("w.bin", "8"));
  EXPECT_EQ(tensor.data<float>()[0], 3.0F);
  EXPECT_EQ(tensor.data<float>()[1], 4.0F);
  tensor.data<float>()[0] = 7;
  EXPECT_EQ(read_bytes(directory / "w.bin").size(), sizeof values);
}

TEST(OnnxModel, TheFilesThatItsTensorsLieInAreNamed) {
  const TemporaryDirectory directory;
  const std::string path = directory / "model.onnx";
  ModelProto model = small_model();
  write_bytes(path, bytes_of(model));
  EXPECT_THAT(external_files(path), ::testing::IsEmpty());
  model.graph.initializer.push_back(external("w.bin"));
  model.graph.initializer.push_back(external("w.bin", "8"));
  AttributeProto body;
  body.name = "body";
  body.type = AttributeProto::Type::kGraph;
  body.g = std::make_shared<GraphProto>();
  body.g->initializer.push_back(external("inner.bin"));
  model.graph.node.push_back({"again", "Loop", "", "", {}, {"z"}, {body}});
  write_bytes(path, bytes_of(model));
  EXPECT_THAT(external_files(path), ::testing::ElementsAre("inner.bin", "w.bin"));
  for (const char* junk : {"", "not a model at all"}) {
    write_bytes(path, junk);
    EXPECT_THAT(external_files(path), ::testing::IsEmpty()) << junk;
  }
  EXPECT_THROW(external_files(directory / "none.onnx"), Error);
}

TEST(OnnxTensor, WhatWasReadOnceCanBeReadAgain) {
  const TemporaryDirectory directory;
  std::vector<float> values(8192);
  std::iota(values.begin(), values.end(), 0.0F);
  write_bytes(directory / "w.bin",
              "." + std::string(3, 0) + std::string(reinterpret_cast<const char*>(values.data()), 4 * values.size()));
  TensorReader reader(nullptr, directory.path());
  for (const char* offset : {"4", "5"}) {
    TensorProto proto = external("w.bin", offset, "32760");
    proto.dims = {8190};
    EXPECT_EQ(reader.check(proto), (TensorType{DType::kF32, {8190}}));
    const std::string before(static_cast<const char*>(reader.read(proto).raw()), 32760);
    for (int time = 0; time < 2; ++time) {
      const Tensor tensor = reader.read_once(proto);
      EXPECT_EQ(std::string(static_cast<const char*>(tensor.raw()), tensor.num_bytes()), before);
    }
  }
  TensorProto wrong = external("w.bin", "4", "32760");
  EXPECT_THAT(error_text([&] { reader.check(wrong); }), HasSubstr("does not fit its 32760 bytes"));
}

TEST(OnnxTensor, ExternalDataThatMayNotBeRead) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "model");
  write_bytes(directory / "secret", "12345678");
  write_bytes(directory / "model/w.bin", "12345678");
  std::filesystem::create_symlink("../secret", directory / "model/link");
  const std::filesystem::path folder = directory / "model";
  EXPECT_EQ(tensor_error(external("w.bin"), folder), "no error");
  EXPECT_THAT(tensor_error(external("../secret"), folder), HasSubstr("not in the model's folder"));
  EXPECT_THAT(tensor_error(external("sub/../../secret"), folder), HasSubstr("not in the model's folder"));
  EXPECT_THAT(tensor_error(external(directory / "secret"), folder), HasSubstr("not in the model's folder"));
  EXPECT_THAT(tensor_error(external("link"), folder), HasSubstr("leaves the model's folder"));
  EXPECT_THAT(tensor_error(external("none.bin"), folder), AllOf(HasSubstr("\"w\""), HasSubstr("none.bin")));
  EXPECT_THAT(tensor_error(external("."), folder), HasSubstr("is not a file"));
  EXPECT_THAT(tensor_error(external("w.bin", "1"), folder), HasSubstr("outside of the 8 bytes"));
  EXPECT_THAT(tensor_error(external("w.bin", "18446744073709551615"), folder), HasSubstr("outside"));
  EXPECT_THAT(tensor_error(external("w.bin", "0", "4"), folder), HasSubstr("does not fit its 4 bytes"));
  EXPECT_THAT(tensor_error(external("w.bin", "-1"), folder), HasSubstr("not a number"));
  EXPECT_THAT(tensor_error(external("w.bin"), {}), HasSubstr("not read from a file"));
}

}  // namespace
}  // namespace thalweg::onnx
