// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/data/files.h"

/// In the library thalweg_arrow, as data/table.h.
namespace thalweg::data {

/// The files below a directory at any URI that Arrow opens (file, hdfs, s3, gs, abfss):
///   ImageFolder photos(remote_files("hdfs://name-node/photos"), {.pipeline = pipeline});
/// Throws Error that begins with the address if there is no such directory.
FilesPtr remote_files(const std::string& uri);

/// One file at such an address.
struct RemoteFile {
  FilesPtr files;
  std::string path;  ///< within `files`
};
/// Of the directory that the file lies in; whether there is such a file shows when it is read.
RemoteFile remote_file(const std::string& uri);

/// True if `path` is such an address rather than a path of this machine.
inline bool is_uri(const std::string& path) { return path.find("://") != std::string::npos; }

}  // namespace thalweg::data
