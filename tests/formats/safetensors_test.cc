// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "support/error_text.h"
#include "support/temporary_directory.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace thalweg::testing;

template <typename T>
std::vector<T> values_of(const Tensor& tensor) {
  return std::vector<T>(tensor.data<T>(), tensor.data<T>() + tensor.num_elements());
}

std::string with_length(const std::string& header, const std::string& data = "") {
  const uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

/// What the reference implementation 0.8.0 writes for these tensors.
std::string reference_bytes() {
  const std::string header =
      R"({"__metadata__":{"k":"v","a":"b"},"b":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
      R"("a":{"dtype":"F32","shape":[1,1],"data_offsets":[16,20]},)"
      R"("z":{"dtype":"F32","shape":[0,3],"data_offsets":[20,20]},)"
      R"("t":{"dtype":"BOOL","shape":[3],"data_offsets":[20,23]}}      )";
  using std::string_literals::operator""s;
  return with_length(header,
                     "\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"
                     "\0\0\xc0\x3f\x01\0\x01"s);
}

TEST(Safetensors, ReadsWhatTheReferenceWrites) {
  const TemporaryDirectory directory;
  write_bytes(directory / "f", reference_bytes());
  const SafetensorsFile file(directory / "f");
  EXPECT_THAT(file.names(), ElementsAre("b", "a", "z", "t"));
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"k", "v"}, {"a", "b"}}));
  EXPECT_THAT(values_of<int64_t>(file.tensor("b")), ElementsAre(1, 2));
  EXPECT_THAT(values_of<float>(file.tensor("a")), ElementsAre(1.5f));
  EXPECT_EQ(file.type("a"), (TensorType{DType::kF32, {1, 1}}));
  EXPECT_EQ(file.tensor("z").shape(), (Shape{0, 3}));
  EXPECT_THAT(values_of<bool>(file.load("t")), ElementsAre(true, false, true));
  EXPECT_TRUE(file.contains("t"));
  EXPECT_FALSE(file.contains("__metadata__"));
}

TEST(Safetensors, WritesTheseBytes) {
  const TemporaryDirectory directory;
  save_safetensors(directory / "f", {{"u", Tensor::from<uint8_t>({3}, {1, 2, 3})}, {"x", Tensor::scalar(1.5f)}},
                   {{"step", "7"}});
  std::string header = R"({"__metadata__":{"step":"7"},"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                       R"("u":{"dtype":"U8","shape":[3],"data_offsets":[4,7]}})";
  header.append(64 - (8 + header.size()) % 64, ' ');
  using std::string_literals::operator""s;
  EXPECT_EQ(read_bytes(directory / "f"), with_length(header, "\0\0\xc0\x3f\x01\x02\x03"s));
  EXPECT_EQ(directory.num_files(), 1U);
}

TEST(Safetensors, EveryTypeComesBack) {
  const TemporaryDirectory directory;
  std::vector<NamedTensor> tensors;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kI8, DType::kU8, DType::kI32,
                            DType::kI64, DType::kBool}) {
    Tensor tensor(dtype, {3, 5});
    auto* bytes = static_cast<unsigned char*>(tensor.raw());
    for (size_t i = 0; i < tensor.num_bytes(); ++i) {
      bytes[i] = static_cast<unsigned char>(dtype == DType::kBool ? i % 2 : i * 37 + 1);
    }
    tensors.push_back({name_of(dtype), tensor});
    tensors.push_back({std::string("empty ") + name_of(dtype), Tensor(dtype, {2, 0})});
  }
  save_safetensors(directory / "f", tensors);
  const SafetensorsFile file(directory / "f");
  EXPECT_EQ(file.names().size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    for (const Tensor& found : {file.tensor(name), file.load(name)}) {
      ASSERT_EQ(found.type(), tensor.type()) << name;
      EXPECT_EQ(std::memcmp(found.raw(), tensor.raw(), tensor.num_bytes()), 0) << name;
    }
  }
}

TEST(Safetensors, NoTensorsAtAll) {
  const TemporaryDirectory directory;
  save_safetensors(directory / "f", {});
  EXPECT_TRUE(SafetensorsFile(directory / "f").names().empty());
}

TEST(Safetensors, UnusualNamesComeBack) {
  const TemporaryDirectory directory;
  const std::string name = "w\"\\\n\xc3\xa9 {}";
  save_safetensors(directory / "f", {{name, Tensor::scalar(2.0f)}}, {{"", "empty\tkey"}});
  const SafetensorsFile file(directory / "f");
  EXPECT_EQ(file.tensor(name).item(), 2.0);
  EXPECT_EQ(file.metadata().at(""), "empty\tkey");
}

TEST(Safetensors, TensorsOutliveTheFileObjectAndDoNotChangeTheFile) {
  const TemporaryDirectory directory;
  const std::string path = directory / "f";
  save_safetensors(path, {{"x", Tensor::from<float>({2}, {1, 2})}});
  const std::string before = read_bytes(path);
  Tensor tensor = SafetensorsFile(path).tensor("x");
  save_safetensors(path, {{"x", Tensor::from<float>({2}, {3, 4})}});
  EXPECT_THAT(values_of<float>(tensor), ElementsAre(1, 2));
  tensor.data<float>()[0] = 9.0f;
  EXPECT_THAT(values_of<float>(SafetensorsFile(path).tensor("x")), ElementsAre(3, 4));
}

TEST(Safetensors, MisalignedDataIsCopied) {
  const TemporaryDirectory directory;
  using std::string_literals::operator""s;
  write_bytes(directory / "f", with_length(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                           R"("b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
                                           "\x07\0\0\xc0\x3f"s));
  const SafetensorsFile file(directory / "f");
  EXPECT_EQ(file.tensor("b").item(), 1.5);
  EXPECT_EQ(file.load("b").item(), 1.5);
}

TEST(Safetensors, ErrorsNameFileAndTensor) {
  const TemporaryDirectory directory;
  const std::string path = directory / "f";
  EXPECT_THAT(error_text([&] { SafetensorsFile{path}; }),
              AllOf(HasSubstr("cannot open " + path), HasSubstr("No such file")));
  EXPECT_THAT(error_text([&] { SafetensorsFile{directory.path().string()}; }), HasSubstr("not a file"));
  save_safetensors(path, {{"fc.weight", Tensor::scalar(1.0f)}});
  const SafetensorsFile file(path);
  EXPECT_THAT(error_text([&] { static_cast<void>(file.tensor("fc.weigth")); }),
              AllOf(HasSubstr(path), HasSubstr("fc.weigth"), HasSubstr("fc.weight")));
  std::byte three[3];
  EXPECT_THAT(error_text([&] { file.read("fc.weight", three); }),
              AllOf(HasSubstr("4 bytes, not 3"), HasSubstr("fc.weight")));
  std::filesystem::resize_file(path, 66);
  std::byte four[4];
  EXPECT_THAT(error_text([&] { file.read("fc.weight", four); }), AllOf(HasSubstr(path), HasSubstr("cut short")));
}

TEST(Safetensors, RefusesToWriteWhatCannotBeRead) {
  const TemporaryDirectory directory;
  const std::string path = directory / "f";
  write_bytes(path, "old");
  const Tensor one = Tensor::scalar(1.0f);
  EXPECT_THAT(error_text([&] { save_safetensors(path, {{"x", one}, {"x", one}}); }), HasSubstr("\"x\" comes twice"));
  EXPECT_THAT(error_text([&] { save_safetensors(path, {{"__metadata__", one}}); }), HasSubstr("reserved"));
  EXPECT_THAT(error_text([&] { save_safetensors(path, {{"x", Tensor()}}); }), HasSubstr("\"x\" has no values"));
  EXPECT_THAT(error_text([&] { save_safetensors(path, {{"\xff", one}}); }), HasSubstr("not UTF-8"));
  EXPECT_THAT(error_text([&] { save_safetensors(path, {}, {{"k", "\xff"}}); }), HasSubstr("metadata value"));
  EXPECT_EQ(read_bytes(path), "old");
  EXPECT_EQ(directory.num_files(), 1U);
}

}  // namespace
}  // namespace thalweg
