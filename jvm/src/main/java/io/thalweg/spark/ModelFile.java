// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.CachedFolder;
import io.thalweg.HostCache;
import io.thalweg.ThalwegException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.ref.Cleaner;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;

/** An ONNX file in this host's cache, under the hash of its content. It stays there as long as somebody has this object. */
final class ModelFile {
  static final String NAME = "model.onnx";
  private static final Cleaner CLEANER = Cleaner.create();

  private final String hash;
  private final Path path;
  /** What the user calls it. */
  private final String name;
  private final LatestOf<SparkContext, BroadcastFile> broadcasts = new LatestOf<>();

  private ModelFile(String hash, CachedFolder folder, String name) {
    this.hash = hash;
    this.name = name;
    this.path = folder.path().resolve(NAME);
    CLEANER.register(this, folder::close);
  }

  String hash() {
    return hash;
  }

  Path path() {
    return path;
  }

  /** What the engine says of this file, which it knows by its place in the cache, with the name that the user knows. */
  ThalwegException explained(ThalwegException problem) {
    // Without a cause, which would tell of the other place again and of nothing else.
    return new ThalwegException(problem.getMessage().replace(path.toString(), name));
  }

  /** Made once for each application: one that was stopped has taken its broadcasts along. */
  BroadcastFile broadcast(SparkContext context) {
    return broadcasts.get(
        context, wanted -> new BroadcastFile(path, NAME, hash, JavaSparkContext.fromSparkContext(wanted)));
  }

  /** Copies a file from any file system that Spark knows into the cache. */
  static ModelFile read(String path, Configuration configuration) {
    org.apache.hadoop.fs.Path source = new org.apache.hadoop.fs.Path(path);
    try {
      FileSystem system = source.getFileSystem(configuration);
      HostCache cache = HostCache.standard();
      Path incoming = cache.newFile(".onnx");
      try {
        String hash;
        try (InputStream stream = system.open(source)) {
          hash = HostCache.write(incoming, stream::transferTo);
        }
        ModelLimit.checkSingleFile(incoming, path);
        return keep(cache, hash, path, target -> Files.move(incoming, target));
      } finally {
        Files.deleteIfExists(incoming);
      }
    } catch (IOException failure) {
      throw new ThalwegException("the model " + path + " cannot be read: " + failure.getMessage(), failure);
    }
  }

  /** A new model. */
  static ModelFile keep(byte[] model) throws IOException {
    HostCache cache = HostCache.standard();
    Path incoming = cache.newFile(".onnx");
    try {
      CompletableFuture<String> hash = CompletableFuture.supplyAsync(() -> HostCache.sha256(model));
      Files.write(incoming, model);
      return keep(cache, hash.join(), "that a fit gave", target -> Files.move(incoming, target));
    } finally {
      Files.deleteIfExists(incoming);
    }
  }

  private interface Writer {
    void write(Path target) throws IOException;
  }

  /** The file of this hash, which {@code writer} writes if the cache does not have it. */
  private static ModelFile keep(HostCache cache, String hash, String called, Writer writer) throws IOException {
    HostCache.FileWriter known = (file, target) -> {
      writer.write(target);
      return hash;
    };
    return new ModelFile(hash, cache.use("model-" + hash, Map.of(NAME, hash), known), called);
  }

  /** To a path on any file system that Spark knows. */
  void copyTo(org.apache.hadoop.fs.Path target, Configuration configuration) throws IOException {
    try (OutputStream stream = target.getFileSystem(configuration).create(target, true)) {
      Files.copy(path, stream);
    }
  }
}
