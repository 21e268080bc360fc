// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "data/annotations/xml.h"
#include "support/error_text.h"
#include "support/temporary_directory.h"
#include "thalweg/data/annotations.h"
#include "thalweg/data/remote_files.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

std::string object(const std::string& name, const std::string& corners, const std::string& more = "") {
  std::string box = "<bndbox>";
  std::istringstream numbers(corners);
  for (const char* key : {"xmin", "ymin", "xmax", "ymax"}) {
    std::string number;
    if (numbers >> number) box += "<" + std::string(key) + ">" + number + "</" + key + ">";
  }
  return "<object><name>" + name + "</name>" + more + box + "</bndbox></object>";
}

std::string annotation(const std::string& objects) {
  return "<?xml version=\"1.0\"?>\n<annotation>\n<folder>VOC2007</folder>\n"
         "<size><width>30</width><height>20</height><depth>3</depth></size>" +
         objects + "</annotation>\n";
}

class VocReader : public ::testing::Test {
 protected:
  VocReader() {
    std::filesystem::create_directories(directory_ / "Annotations");
    std::filesystem::create_directories(directory_ / "ImageSets/Main");
  }
  void write(const std::string& stem, const std::string& xml) const {
    write_bytes(directory_ / ("Annotations/" + stem + ".xml"), xml);
  }
  std::string path() const { return directory_.path().string(); }

  const TemporaryDirectory directory_;
};

TEST_F(VocReader, PicturesCategoriesAndObjects) {
  write("2007_000032",
        annotation(object("spoon", "1 1 10 20") + object("fork", "5.5 6 30 20", "<difficult>1</difficult>")));
  write("2007_000027", annotation(object("spoon", "3 3 3 3")));
  const auto read = data::read_voc(path());
  EXPECT_EQ(read.problems.count(), 0) << to_string(read.problems);
  ASSERT_EQ(read.annotations.pictures.size(), 2U);
  EXPECT_EQ(read.annotations.pictures[0].id, 2007000027);
  EXPECT_EQ(read.annotations.pictures[0].file, "JPEGImages/2007_000027.jpg");
  EXPECT_EQ(read.annotations.pictures[0].width, 30);
  ASSERT_EQ(read.annotations.categories.size(), 2U);
  EXPECT_EQ(read.annotations.categories[0].name, "fork");
  ASSERT_EQ(read.annotations.objects.size(), 3U);
  EXPECT_EQ(read.annotations.objects[0].box, (vision::Box{2, 2, 1, 1}));
  EXPECT_EQ(read.annotations.objects[0].category, 2);
  EXPECT_EQ(read.annotations.objects[1].box, (vision::Box{0, 0, 10, 20}));
  EXPECT_EQ(read.annotations.objects[2].box, (vision::Box{4.5, 5, 25.5, 15}));
  EXPECT_TRUE(read.annotations.objects[2].crowd);
  const auto remote = data::read_voc(*data::remote_files("file://" + path()));
  EXPECT_EQ(remote.annotations.objects.size(), 3U);
}

TEST_F(VocReader, ClassesOfVocKeepTheirNumbers) {
  write("1", annotation(object("dog", "1 1 2 2") + object("tvmonitor", "1 1 2 2")));
  const auto read = data::read_voc(path());
  EXPECT_EQ(read.annotations.categories.size(), 20U);
  EXPECT_EQ(read.annotations.objects[0].category, 12);
  EXPECT_EQ(read.annotations.objects[1].category, 20);
}

TEST_F(VocReader, AListChoosesPictures) {
  write("a", annotation(""));
  write("b", annotation(object("dog", "1 1 2 2")));
  write_bytes(directory_ / "ImageSets/Main/val.txt", "b  1\n\n");
  const auto read = data::read_voc(path(), {.list = "ImageSets/Main/val.txt"});
  ASSERT_EQ(read.annotations.pictures.size(), 1U);
  EXPECT_EQ(read.annotations.pictures[0].id, 1);  // its name has no number
  write_bytes(directory_ / "ImageSets/Main/val.txt", "../b\n");
  EXPECT_THAT(error_text([&] { data::read_voc(path(), {.list = "ImageSets/Main/val.txt"}); }),
              HasSubstr("val.txt: has the line \"../b\", which is no name of a picture"));
}

TEST_F(VocReader, BadObjectsAreCounted) {
  write("1", annotation(object("dog", "40 1 50 2") + object("dog", "1 1") + object("", "1 1 2 2") +
                        object("dog", "9 9 1 1") + object("dog", "1 1 2 nan")));
  const auto read = data::read_voc(path());
  EXPECT_EQ(read.problems.kinds.at("box empty or outside"), 4);
  EXPECT_EQ(read.problems.kinds.at("unknown category"), 1);
  EXPECT_EQ(read.annotations.objects.size(), 2U);  // those with a box, which COCO's tools would count
  EXPECT_THAT(error_text([&] { data::read_voc(path(), {.strict = true}); }), HasSubstr("Annotations/1.xml: object 0"));
}

TEST_F(VocReader, WhatIsNoVocFolderIsNamed) {
  EXPECT_THAT(error_text([&] { data::read_voc(path()); }), HasSubstr("holds no annotations as Annotations/*.xml"));
  write("1", "<annotation><object></annotation>");
  EXPECT_THAT(error_text([&] { data::read_voc(path()); }), HasSubstr("Annotations/1.xml: is not XML"));
  write("1", annotation("<x/>") + "<filename>");
  EXPECT_THAT(error_text([&] { data::read_voc(path()); }), HasSubstr("something follows"));
  write("1", "<annotation><filename>../../secret</filename></annotation>");
  EXPECT_THAT(error_text([&] { data::read_voc(path()); }), HasSubstr("the picture's name is \"../../secret\""));
}

data::XmlElement xml(const std::string& text) { return data::parse_xml(text, "x.xml"); }
std::string failure(const std::string& text) {
  return error_text([&] { xml(text); });
}

TEST(Xml, ElementsTextsAndEntities) {
  const auto root =
      xml("\xEF\xBB\xBF<?xml version='1.0'?>\n<!-- a > b -->\n<a x=\"<\" y='\"'> one &amp; <b/>two"
          "<!-- no --><![CDATA[<c>]]> &#65;&#x20AC; </a>\n<!-- end -->");
  EXPECT_EQ(root.name, "a");
  EXPECT_EQ(root.text, "one & two<c> A\xE2\x82\xAC");
  ASSERT_EQ(root.children.size(), 1U);
  EXPECT_NE(root.child("b"), nullptr);
  EXPECT_EQ(root.child("c"), nullptr);
}

TEST(Xml, WhatIsDamagedSaysTheLine) {
  EXPECT_THAT(failure("<a>\n<b></c></a>"), HasSubstr("x.xml: is not XML as annotations are, in line 2"));
  EXPECT_THAT(failure("<a>\n<b></c></a>"), HasSubstr("\"b\" is closed by another tag"));
  EXPECT_THAT(failure("<a"), HasSubstr("a tag does not end"));
  EXPECT_THAT(failure("<a>"), HasSubstr("\"a\" is not closed"));
  EXPECT_THAT(failure("<a x=1/>"), HasSubstr("not in quotes"));
  EXPECT_THAT(failure("<a>&nbsp;</a>"), HasSubstr("no entity \"nbsp\""));
  EXPECT_THAT(failure("<a>&#x110000;</a>"), HasSubstr("no character"));
  EXPECT_THAT(failure("<!DOCTYPE a><a/>"), HasSubstr("an element does not begin here"));
  EXPECT_THAT(failure(""), HasSubstr("an element does not begin here"));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "<a>";
  EXPECT_THAT(failure(deep), HasSubstr("nested 32 deep"));
}

}  // namespace
}  // namespace thalweg::testing
