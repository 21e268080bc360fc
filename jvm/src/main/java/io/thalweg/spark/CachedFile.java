// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.CachedFolder;
import java.nio.file.Path;

/** A file in this host's cache, in use until it is closed. */
record CachedFile(CachedFolder folder, String name) implements AutoCloseable {
  Path path() {
    return folder.path().resolve(name);
  }

  @Override
  public void close() {
    folder.close();
  }
}
