// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.io.Serializable;

/**
 * The model that workers begin with: a file that comes from the driver, or one of the zoo, which every worker builds for
 * itself. The weights of those depend on their names and the seed alone, so that nothing has to be sent.
 */
final class StartModel implements Serializable {
  private static final long serialVersionUID = 1L;

  /** As long as it is in use. */
  record Lease(String source, CachedFile file) implements AutoCloseable {
    @Override
    public void close() {
      if (file != null) {
        file.close();
      }
    }
  }

  private final String zoo;
  private final BroadcastFile file;

  private StartModel(String zoo, BroadcastFile file) {
    this.zoo = zoo;
    this.file = file;
  }

  /** {@code source} begins with "zoo:". */
  static StartModel ofZoo(String source) {
    return new StartModel(source, null);
  }

  static StartModel ofFile(BroadcastFile file) {
    return new StartModel(null, file);
  }

  Lease use() {
    if (file == null) {
      return new Lease(zoo, null);
    }
    CachedFile cached = file.use();
    return new Lease(cached.path().toString(), cached);
  }

  /** Workers that begin later could not get it. */
  void destroy() {
    if (file != null) {
      file.destroy();
    }
  }
}
