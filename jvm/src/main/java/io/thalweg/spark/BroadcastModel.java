// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.HostCache;
import io.thalweg.ThalwegException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;

/**
 * A model file on its way to the executors. Each chunk is a broadcast of its own: no array holds the whole file, and an
 * executor's heap never more than one chunk. A host whose cache has the file already fetches nothing.
 */
final class BroadcastModel implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int CHUNK_BYTES = 32 << 20;

  private final String hash;
  private final ArrayList<Broadcast<byte[]>> chunks = new ArrayList<>();

  BroadcastModel(ModelFile file, JavaSparkContext context) {
    hash = file.hash();
    try (InputStream stream = Files.newInputStream(file.path())) {
      for (byte[] chunk = stream.readNBytes(CHUNK_BYTES); chunk.length > 0; chunk = stream.readNBytes(CHUNK_BYTES)) {
        chunks.add(context.broadcast(chunk));
      }
    } catch (IOException failure) {
      throw new ThalwegException(file.path() + " cannot be read: " + failure.getMessage(), failure);
    }
  }

  String hash() {
    return hash;
  }

  /** The file in this host's cache. */
  Path file() {
    try {
      return ModelFile.keep(HostCache.standard(), hash, (name, target) -> write(target)).path();
    } catch (IOException failure) {
      throw new ThalwegException("the model cannot be put into this host's cache: " + failure.getMessage(), failure);
    }
  }

  private void write(Path target) throws IOException {
    try (OutputStream stream = Files.newOutputStream(target)) {
      for (Broadcast<byte[]> chunk : chunks) {
        stream.write(chunk.value());
      }
    }
  }
}
