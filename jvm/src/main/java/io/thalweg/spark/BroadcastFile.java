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
import java.util.Map;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;

/**
 * A file on its way to the executors. Each chunk is a broadcast of its own: no array holds the whole file, and an
 * executor's heap never more than one chunk. A host whose cache has the file already fetches nothing.
 */
final class BroadcastFile implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int CHUNK_BYTES = 32 << 20;

  private final String name;
  private final String hash;
  private final ArrayList<Broadcast<byte[]>> chunks = new ArrayList<>();

  /** {@code hash} is the SHA-256 of the content, {@code name} what the file is called in the caches of hosts. */
  BroadcastFile(Path file, String name, String hash, JavaSparkContext context) {
    this.name = name;
    this.hash = hash;
    try (InputStream stream = Files.newInputStream(file)) {
      for (byte[] chunk = stream.readNBytes(CHUNK_BYTES); chunk.length > 0; chunk = stream.readNBytes(CHUNK_BYTES)) {
        chunks.add(context.broadcast(chunk));
      }
    } catch (IOException failure) {
      throw new ThalwegException(file + " cannot be read: " + failure.getMessage(), failure);
    }
  }

  String hash() {
    return hash;
  }

  /** The file in this host's cache. */
  CachedFile use() {
    try {
      HostCache cache = HostCache.standard();
      HostCache.FileWriter writer = (file, target) -> HostCache.write(target, this::writeTo);
      return new CachedFile(cache.use("model-" + hash, Map.of(name, hash), writer), name);
    } catch (IOException failure) {
      throw new ThalwegException("the model cannot be put into this host's cache: " + failure.getMessage(), failure);
    }
  }

  /** Nobody may ask for the file any more on a host that does not have it. */
  void destroy() {
    chunks.forEach(Broadcast::destroy);
  }

  private void writeTo(OutputStream stream) throws IOException {
    for (Broadcast<byte[]> chunk : chunks) {
      stream.write(chunk.value());
    }
  }
}
