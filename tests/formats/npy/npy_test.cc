// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "formats/npy/array.h"
#include "formats/npy/zip.h"
#include "support/error_text.h"
#include "support/source_dir.h"
#include "support/temporary_directory.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

std::string golden(const std::string& name) { return TW_SOURCE_DIR "/tests/golden/npy/" + name; }

/// 0, 1, 2, ... in the shape that tests/golden/npy/make_npy.py gives it.
void expect_numbers(const Tensor& tensor) {
  ASSERT_EQ(tensor.type(), (TensorType{DType::kF32, {2, 3, 4}}));
  for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(tensor.data<float>()[i], static_cast<float>(i));
}

TEST(Npy, ReadsWhatNumPyWrites) {
  for (const char* name : {"row_major.npy", "column_major.npy", "big_endian.npy"}) {
    SCOPED_TRACE(name);
    expect_numbers(npy::read(golden(name)));
  }
  const Tensor scalar = npy::read(golden("scalar.npy"));
  EXPECT_EQ(scalar.type(), (TensorType{DType::kI64, {}}));
  EXPECT_EQ(scalar.item(), -7);
}

TEST(Npy, ReadsArchives) {
  for (const char* name : {"stored.npz", "compressed.npz"}) {
    SCOPED_TRACE(name);
    const auto arrays = npy::read_archive(golden(name));
    ASSERT_EQ(arrays.size(), 2U);
    EXPECT_EQ(arrays[0].name, "x");
    expect_numbers(arrays[0].tensor);
    EXPECT_EQ(arrays[1].name, "flags");
    EXPECT_TRUE(arrays[1].tensor.data<bool>()[0]);
    EXPECT_FALSE(arrays[1].tensor.data<bool>()[1]);
  }
}

TEST(Npy, WritesWhatNumPyWould) {
  const TemporaryDirectory directory;
  npy::write(directory / "x.npy", npy::read(golden("row_major.npy")));
  EXPECT_EQ(read_bytes(directory / "x.npy"), read_bytes(golden("row_major.npy")));
  npy::write(directory / "x.npy", npy::read(golden("scalar.npy")));
  EXPECT_EQ(read_bytes(directory / "x.npy"), read_bytes(golden("scalar.npy")));
}

TEST(Npy, AllTypesSurvive) {
  const TemporaryDirectory directory;
  std::vector<NamedTensor> arrays;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kI8, DType::kU8, DType::kI16, DType::kU16,
                            DType::kI32, DType::kU32, DType::kI64, DType::kU64, DType::kBool}) {
    arrays.push_back({name_of(dtype), Tensor::from<float>({3}, {0, 1, 1}).to(dtype)});
  }
  arrays.push_back({"empty", Tensor(DType::kF32, {0, 5})});
  npy::write_archive(directory / "all.npz", arrays);
  const auto read = npy::read_archive(directory / "all.npz");
  ASSERT_EQ(read.size(), arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(read[i].name, arrays[i].name);
    ASSERT_EQ(read[i].tensor.type(), arrays[i].tensor.type());
    EXPECT_EQ(std::memcmp(read[i].tensor.raw(), arrays[i].tensor.raw(), read[i].tensor.num_bytes()), 0);
  }
  npy::write(directory / "narrow.npy", Tensor::from<float>({2}, {1, 2}).to(DType::kBF16));
  EXPECT_EQ(npy::read(directory / "narrow.npy").data<float>()[1], 2);
}

TEST(NpyHostile, ErrorsSayWhatIsWrong) {
  const auto parse = [](const std::string& header, const std::string& values = "") {
    std::string bytes = std::string("\x93NUMPY\x01\x00", 8);
    const auto length = static_cast<uint16_t>(header.size());
    bytes.append(reinterpret_cast<const char*>(&length), 2);
    return error_text([&] { npy::parse_array(bytes + header + values, "a.npy", nullptr); });
  };
  EXPECT_THAT(error_text([] { npy::read(golden("complex.npy")); }), HasSubstr("complex.npy: the header says"));
  EXPECT_THAT(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234"),
              HasSubstr("a.npy: an array [2] of f32 does not take the 4 bytes"));
  EXPECT_THAT(parse("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 8), }"),
              HasSubstr("does not take"));
  EXPECT_THAT(parse("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4611686018427387904, 8), }"),
              HasSubstr("does not take"));
  EXPECT_THAT(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"), HasSubstr("no size"));
  EXPECT_THAT(parse("{'descr': '<f4', 'shape': (0,), }"), HasSubstr("lacks"));
  EXPECT_THAT(parse("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (0,), }"), HasSubstr("records"));
  EXPECT_THAT(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (0,), } x"), HasSubstr("goes on"));
  EXPECT_THAT(parse("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", "\x02"), HasSubstr("neither true"));
}

TEST(NpyHostile, NoPrefixIsAnArray) {
  const std::string whole = read_bytes(golden("row_major.npy"));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_text([&] { npy::parse_array(whole.substr(0, size), "a.npy", nullptr); }), "no error") << size;
  }
}

TEST(NpyHostile, NoPrefixAndNoChangedByteIsTakenForAnArchive) {
  const TemporaryDirectory directory;
  for (const char* name : {"stored.npz", "compressed.npz"}) {
    const std::string whole = read_bytes(golden(name));
    for (size_t size = 0; size < whole.size(); size += 3) {
      write_bytes(directory / "cut.npz", whole.substr(0, size));
      EXPECT_NE(error_text([&] { npy::read_archive(directory / "cut.npz"); }), "no error") << name << " " << size;
    }
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string changed = whole;
      changed[at] = static_cast<char>(~changed[at]);
      write_bytes(directory / "changed.npz", changed);
      error_text([&] { npy::read_archive(directory / "changed.npz"); });  // an error or not, but no crash
    }
  }
}

TEST(NpyHostile, SizesThatTheBytesCannotHoldAreRefusedBeforeMemoryIsTaken) {
  std::string bytes = read_bytes(golden("compressed.npz"));
  const size_t entry = bytes.find("PK\x01\x02");
  const uint32_t huge = 0xfffffff0;
  std::memcpy(bytes.data() + entry + 24, &huge, sizeof huge);
  EXPECT_THAT(error_text([&] { npy::list_zip(bytes, "a.npz"); }), HasSubstr("claims 4294967280 bytes"));
}

}  // namespace
}  // namespace thalweg::testing
