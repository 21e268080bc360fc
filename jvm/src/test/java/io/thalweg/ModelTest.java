// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModelTest {
  @TempDir Path directory;
  private Path file;

  @BeforeEach
  void writeModel() throws IOException {
    file = directory.resolve("sum.onnx");
    try (InputStream stream = ModelTest.class.getResourceAsStream("/io/thalweg/spark/sum.onnx")) {
      Files.copy(stream, file);
    }
  }

  private static Tensor rows(float... numbers) {
    ByteBuffer memory = Tensor.allocate(4L * numbers.length);
    memory.asFloatBuffer().put(numbers);
    return new Tensor(DType.F32, new long[] {numbers.length / 2, 2}, memory);
  }

  @Test
  void runs() {
    try (Model model = new Model(file, 1, Model.Precision.DECLARED);
        Result result = model.run(List.of(rows(1, 2, 3, 4)))) {
      assertEquals("x f32[-1, 2]", model.inputs().get(0).toString());
      assertEquals(2, model.inputs().get(0).rowElements());
      assertNull(model.metadata("nothing"));
      Tensor sums = result.tensor(0);
      assertArrayEquals(new long[] {2, 1}, sums.dims());
      assertEquals(3, sums.data().getFloat(0));
      assertEquals(7, sums.data().getFloat(4));
      try (Result classes = model.classify(result, 0)) {
        assertEquals(1, classes.tensor(1).data().getLong(0));
      }
    }
  }

  @Test
  void errorsBecomeExceptionsWithTheEnginesWords() {
    ThalwegException missing =
        assertThrows(ThalwegException.class, () -> new Model(directory.resolve("none.onnx"), 1, Model.Precision.F32));
    assertTrue(missing.getMessage().contains("none.onnx"), missing.getMessage());
    try (Model model = new Model(file, 1, Model.Precision.F32)) {
      ThalwegException failure = assertThrows(ThalwegException.class, () -> model.run(List.of()));
      assertTrue(failure.getMessage().contains("takes 1 inputs, got 0"), failure.getMessage());
      model.close();
      assertThrows(ThalwegException.class, () -> model.run(List.of(rows(1, 2))));
    }
  }

  @Test
  void aTensorMustFitItsMemory() {
    assertThrows(ThalwegException.class, () -> new Tensor(DType.F32, new long[] {3}, Tensor.allocate(8)));
    assertThrows(ThalwegException.class, () -> new Tensor(DType.F32, new long[] {-1}, Tensor.allocate(8)));
    assertThrows(ThalwegException.class, () -> new Tensor(DType.F32, new long[] {1}, ByteBuffer.allocate(8)));
  }
}
