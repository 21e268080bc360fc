// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/** A folder of a {@link HostCache} in use: it stays until this is closed, or the process ends. */
public final class CachedFolder implements AutoCloseable {
  private final Path path;
  private final ProcessLock use;

  CachedFolder(Path path, ProcessLock use) {
    this.path = path;
    this.use = use;
  }

  public Path path() {
    return path;
  }

  @Override
  public void close() {
    try {
      use.close();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }
}
