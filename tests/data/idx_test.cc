// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "thalweg/data.h"

namespace thalweg::data {
namespace {

class IdxFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / ("thalweg-idx-" + std::to_string(::getpid()))).string();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string write(const std::vector<uint8_t>& bytes) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path_;
  }
  void expect_error(const std::vector<uint8_t>& bytes, const std::string& what) {
    write(bytes);
    try {
      read_idx(path_);
      ADD_FAILURE() << "accepted a file that is " << what;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr(path_), ::testing::HasSubstr(what)));
    }
  }
  std::string path_;
};

TEST_F(IdxFile, ReadsBytesAndBigEndianNumbers) {
  const Tensor bytes = read_idx(write({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255}));
  EXPECT_EQ(bytes.type(), (TensorType{DType::kU8, {2, 3}}));
  EXPECT_EQ(bytes.data<uint8_t>()[5], 255);
  const Tensor numbers = read_idx(write({0, 0, 0x0C, 1, 0, 0, 0, 2, 0, 0, 1, 2, 255, 255, 255, 254}));
  EXPECT_EQ(numbers.data<int32_t>()[0], 258);
  EXPECT_EQ(numbers.data<int32_t>()[1], -2);
}

TEST_F(IdxFile, RejectsHostileFiles) {
  expect_error({}, "cut short");
  expect_error({0, 0, 8}, "cut short");
  expect_error({0, 0, 8, 3, 0, 0, 0, 1}, "cut short");
  expect_error({0x1F, 0x8B, 8, 0, 1}, "gzip");
  expect_error({'P', 'K', 3, 4, 1}, "not an IDX file");
  expect_error({0, 0, 7, 1, 0, 0, 0, 0}, "element type 7");
  expect_error({0, 0, 8, 0}, "rank 0");
  expect_error({0, 0, 8, 200}, "rank 200");
  expect_error({0, 0, 8, 1, 0, 0, 0, 3, 1, 2}, "but 2 bytes follow");
  expect_error({0, 0, 8, 1, 0, 0, 0, 1, 1, 2}, "but 2 bytes follow");
  // 2^32-1 cubed overflows 64 bits; nothing may be allocated for it.
  expect_error({0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0}, "1 bytes follow");
  // 2^32 elements of 2^32 wrap to 0 bytes.
  std::vector<uint8_t> wraps = {0, 0, 8, 8};
  for (int i = 0; i < 8; ++i) wraps.insert(wraps.end(), {128, 0, 0, 0});
  expect_error(wraps, "0 bytes follow");
}

TEST_F(IdxFile, NamesAMissingFile) {
  try {
    read_idx("no/such/file");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("no/such/file"));
  }
}

TEST(Mnist, HoldsSeventyThousandDigits) {
  const char* deps = std::getenv("THALWEG_DEPS");
  const std::string directory = std::string(deps != nullptr ? deps : ".") + "/mnist";
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << "no digits in " << directory;
  const Mnist mnist = read_mnist(directory);
  EXPECT_EQ(mnist.train.size(), 60000);
  EXPECT_EQ(mnist.test.size(), 10000);
  EXPECT_EQ(mnist.train.input_types()[0], (TensorType{DType::kF32, {kFree, 1, 28, 28}}));
  const std::vector<int64_t> first = {0};
  EXPECT_EQ(mnist.train.fetch(first).targets[0].item(), 5);
}

}  // namespace
}  // namespace thalweg::data
