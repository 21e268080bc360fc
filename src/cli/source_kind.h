// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace thalweg::cli {

/// What data at a path or an address are.
enum class SourceKind { kArray, kArchive, kImage, kImageFolder, kText, kTable };

/// By the ending of a file's name. A folder is one of images if any file in it, or in folders within it, has the ending
/// of an image (a manifest may lie beside them), and a table if there are only files of tables. A file of which nothing
/// is known is taken for a table, whose reader says what is missing.
SourceKind kind_of_source(const std::string& path);

/// By its ending, which a folder may have too.
bool is_image_file(const std::string& path);

/// ".jpg" of "s3://photos/a.JPG?region=eu"; "" if it has none.
std::string ending_of(const std::string& path);

}  // namespace thalweg::cli
