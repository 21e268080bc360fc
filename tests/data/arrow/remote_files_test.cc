// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/remote_files.h"

#include <gtest/gtest.h>

#include "data/arrow/files.h"
#include "support/bad_images.h"
#include "support/error_text.h"
#include "thalweg/data/describe_table.h"
#include "thalweg/data/image_folder.h"
#include "thalweg/data/table_columns.h"
#include "thalweg/data/text.h"

namespace thalweg::data {
namespace {

using testing::error_text;
using testing::TemporaryDirectory;

std::string uri_of(const TemporaryDirectory& directory) { return "file://" + directory.path().string(); }

TEST(RemoteFiles, ListsWhatIsNotHiddenInOrder) {
  const TemporaryDirectory directory;
  for (const char* name : {"b.txt", "a/z.jpg", "a/b/c.png", ".hidden", "a/.git/x", "a.txt"}) {
    std::filesystem::create_directories(std::filesystem::path(directory / name).parent_path());
    testing::write_bytes(directory / name, name);
  }
  const FilesPtr files = remote_files(uri_of(directory) + "/");
  EXPECT_EQ(files->list(), (std::vector<std::string>{"a.txt", "a/b/c.png", "a/z.jpg", "b.txt"}));
  std::vector<uint8_t> bytes;
  files->read("a/z.jpg", bytes, 100);
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "a/z.jpg");
  EXPECT_NE(error_text([&] { files->read("a/z.jpg", bytes, 3); }).find("a/z.jpg: holds 7 bytes; at most 3"),
            std::string::npos);
  EXPECT_NE(error_text([&] { files->read("absent", bytes, 3); }).find("/absent: "), std::string::npos);
  EXPECT_EQ(error_text([&] { remote_files(uri_of(directory) + "/nothing"); }),
            uri_of(directory) + "/nothing: no such directory");
  EXPECT_EQ(error_text([&] { remote_files(uri_of(directory) + "/a.txt"); }),
            uri_of(directory) + "/a.txt: is not a directory");
}

TEST(RemoteFiles, MessagesTellNoSecrets) {
  // Nobody listens at port 9.
  const std::string text = error_text([] {
    remote_files("gs://anonymous@bucket/photos?scheme=http&endpoint_override=127.0.0.1:9&retry_limit_seconds=0.1");
  });
  EXPECT_EQ(text.rfind("gs://bucket/photos: ", 0), 0U) << text;
}

TEST(RemoteFiles, NamesOfTablesTellNoSecrets) {
  EXPECT_EQ(without_secrets("s3://key:secret@bucket/t.parquet?region=x&secret_key=y"), "s3://bucket/t.parquet");
  EXPECT_EQ(without_secrets("s3://key:sec/r@et@bucket/t/"), "s3://bucket/t");
  EXPECT_EQ(without_secrets("s3://key:secret@bucket/who@where.csv"), "s3://bucket/who@where.csv");
  EXPECT_EQ(without_secrets("hdfs://host:8020/data/who@where.csv"), "hdfs://host:8020/data/who@where.csv");
  EXPECT_EQ(without_secrets("hdfs://user@host:8020/data"), "hdfs://host:8020/data");
  EXPECT_EQ(without_secrets("s3://bucket"), "s3://bucket");
  EXPECT_EQ(without_secrets("/data/what?/a@b.csv"), "/data/what?/a@b.csv");
  const TableOptions options{.inputs = {{{"x"}}}};
  // Nobody listens at port 9; the second address is none at all, which Arrow tells, with the address.
  for (const char* uri : {"gs://anonymous:s3cret@bucket/t.parquet?scheme=http&endpoint_override=127.0.0.1:9"
                          "&retry_limit_seconds=0.1",
                          "gs://key:s3cret@bucket:port/t.parquet?s3cret", "nowhere://key:s3cret@host/t.parquet"}) {
    for (const std::string& text : {error_text([&] { Table(uri, options); }), error_text([&] { remote_files(uri); }),
                                    error_text([&] { read_columns(uri, {"x"}); }),
                                    error_text([&] { describe_table(uri); }), error_text([&] { Table(uri, {}); })}) {
      EXPECT_NE(text, "no error") << uri;
      EXPECT_EQ(text.find("s3cret"), std::string::npos) << text;
    }
  }
}

TEST(RemoteFiles, AFolderOfImagesIsThatOfThisMachine) {
  const TemporaryDirectory directory;
  // As paths "cat b/..." comes before "cat/...", as a name after it.
  for (const char* folder : {"cat", "cat b", "dog"}) testing::write_odd_images(directory.path() / folder);
  for (const ImageLabels labels : {ImageLabels::kFolders, ImageLabels::kNone}) {
    const ImageFolderOptions options{.pipeline = Pipeline({Resize{.height = 8, .width = 8}}), .labels = labels};
    const ImageFolder here(directory.path().string(), options);
    const ImageFolder there(remote_files(uri_of(directory)), options);
    ASSERT_EQ(there.size(), here.size());
    EXPECT_EQ(there.classes(), here.classes());
    for (int64_t i = 0; i < here.size() && labels == ImageLabels::kFolders; ++i) {
      EXPECT_EQ(there.path(i), uri_of(directory) + here.path(i).substr(directory.path().string().size()));
      EXPECT_EQ(there.label(i), here.label(i));
    }
  }
  const std::string empty = uri_of(directory) + "/cat";
  EXPECT_EQ(error_text([&] { ImageFolder(remote_files(empty), {.pipeline = Pipeline({Resize{}})}); }),
            empty + ": holds no images in folders, of which each would be a class");
}

TEST(RemoteFiles, LinesOfTextAreThoseOfThisMachine) {
  const TemporaryDirectory directory;
  testing::write_bytes(directory / "train.tsv", "good\tA fine day\n\nbad\tno day\r\ngood\tday after day");
  const FilesPtr files = remote_files(uri_of(directory));
  EXPECT_EQ(count_tokens(*files, "train.tsv"), count_tokens(directory / "train.tsv"));
  const auto vocabulary = Vocabulary::from_counts(count_tokens(*files, "train.tsv"));
  const TextLinesOptions options{.shape = {.length = 5}};
  const TextLines here(directory / "train.tsv", vocabulary, options);
  const TextLines there(*files, "train.tsv", vocabulary, options);
  ASSERT_EQ(there.size(), 3);
  const std::vector<int64_t> all = {2, 0, 1};
  const Batch a = here.fetch(all), b = there.fetch(all);
  EXPECT_TRUE(std::equal(a.inputs[0].data<int64_t>(), a.inputs[0].data<int64_t>() + 15, b.inputs[0].data<int64_t>()));
  EXPECT_EQ(b.targets[0].data<int64_t>()[2], 0);
  testing::write_bytes(directory / "bad.tsv", "no tab\n");
  EXPECT_EQ(error_text([&] { TextLines(*files, "bad.tsv", vocabulary, options); }),
            uri_of(directory) + "/bad.tsv: line 1: expected a class, a tab and text, got 'no tab'");
}

}  // namespace
}  // namespace thalweg::data
