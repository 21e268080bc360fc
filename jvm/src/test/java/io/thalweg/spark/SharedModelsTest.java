// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalweg.Model;
import io.thalweg.ThalwegException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SharedModelsTest {
  private static final SharedModels.Key KEY = new SharedModels.Key("hash", 1, Model.Precision.F32);

  @TempDir Path directory;

  @Test
  void tasksShareAModelUntilNobodyUsesIt() throws IOException {
    Path file = directory.resolve("sum.onnx");
    try (InputStream stream = SharedModelsTest.class.getResourceAsStream("/io/thalweg/spark/sum.onnx")) {
      Files.copy(stream, file);
    }
    SharedModels.Lease first = SharedModels.use(KEY, () -> file);
    SharedModels.Lease second = SharedModels.use(KEY, () -> file);
    Model model = first.model();
    assertSame(model, second.model());
    first.close();
    first.close();
    SharedModels.closeIdle(0);
    try (SharedModels.Lease third = SharedModels.use(KEY, () -> file)) {
      assertSame(model, third.model());
    }
    second.close();
    SharedModels.closeIdle(0);
    try (SharedModels.Lease later = SharedModels.use(KEY, () -> file)) {
      assertNotSame(model, later.model());
    }
    SharedModels.closeIdle(0);
  }

  @Test
  void aModelThatCannotBeReadIsTriedAgain() {
    SharedModels.Key key = new SharedModels.Key("missing", 1, Model.Precision.F32);
    assertThrows(ThalwegException.class, () -> SharedModels.use(key, () -> directory.resolve("none.onnx")));
    assertThrows(ThalwegException.class, () -> SharedModels.use(key, () -> directory.resolve("none.onnx")));
  }
}
