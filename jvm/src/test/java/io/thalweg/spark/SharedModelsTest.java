// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalweg.HostCache;
import io.thalweg.Model;
import io.thalweg.ThalwegException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SharedModelsTest {
  private static final SharedModels.Key KEY = new SharedModels.Key("hash", 1, Model.Precision.F32);

  @TempDir Path directory;

  @Test
  void tasksShareAModelUntilNobodyUsesIt() throws IOException {
    HostCache cache = new HostCache(directory, Long.MAX_VALUE);
    byte[] content;
    try (InputStream stream = SharedModelsTest.class.getResourceAsStream("/io/thalweg/spark/sum.onnx")) {
      content = stream.readAllBytes();
    }
    SharedModels.Source source = () -> kept(cache, content);
    SharedModels.Lease first = SharedModels.use(KEY, source);
    SharedModels.Lease second = SharedModels.use(KEY, source);
    Model model = first.model();
    assertSame(model, second.model());
    first.close();
    first.close();
    SharedModels.closeIdle(0);
    try (SharedModels.Lease third = SharedModels.use(KEY, source)) {
      assertSame(model, third.model());
    }
    second.close();
    SharedModels.closeIdle(0);
    try (SharedModels.Lease later = SharedModels.use(KEY, source)) {
      assertNotSame(model, later.model());
    }
    SharedModels.closeIdle(0);
  }

  @Test
  void aModelThatCannotBeReadIsTriedAgain() throws IOException {
    HostCache cache = new HostCache(directory, Long.MAX_VALUE);
    SharedModels.Key key = new SharedModels.Key("damaged", 1, Model.Precision.F32);
    assertThrows(ThalwegException.class, () -> SharedModels.use(key, () -> kept(cache, new byte[] {1, 2, 3})));
    assertThrows(ThalwegException.class, () -> SharedModels.use(key, () -> kept(cache, new byte[] {1, 2, 3})));
  }

  private static CachedFile kept(HostCache cache, byte[] content) {
    String hash = HostCache.sha256(content);
    try {
      return new CachedFile(
          cache.use("model-" + hash, Map.of("m.onnx", hash), (name, target) -> HostCache.write(target, stream -> stream.write(content))), "m.onnx");
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }
}
