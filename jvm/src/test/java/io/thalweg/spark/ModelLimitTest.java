// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalweg.ThalwegException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModelLimitTest {
  private static SparkConf allowing(String size) {
    return new SparkConf(false).set("spark.driver.maxResultSize", size);
  }

  private static void expectError(String text, Runnable call) {
    String message = assertThrows(ThalwegException.class, call::run).getMessage();
    assertTrue(message.contains(text), message);
  }

  @Test
  void aModelMustFitIntoTheResultOfAJob() {
    assertDoesNotThrow(() -> ModelLimit.checkResult(900_000_000L, new SparkConf(false)));
    assertDoesNotThrow(() -> ModelLimit.checkResult(1_900_000_000L, allowing("0")));
    expectError("spark.driver.maxResultSize", () -> ModelLimit.checkResult(1_900_000_000L, new SparkConf(false)));
    expectError("2000000000 at most", () -> ModelLimit.checkResult(2_100_000_000L, allowing("0")));
  }

  /** A field of a protocol buffer that holds bytes. */
  private static byte[] field(int number, byte[] content) {
    return ByteBuffer.allocate(2 + content.length).put((byte) (number << 3 | 2)).put((byte) content.length).put(content).array();
  }

  private static byte[] text(int number, String content) {
    return field(number, content.getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] joined(byte[] first, byte[] second) {
    return ByteBuffer.allocate(first.length + second.length).put(first).put(second).array();
  }

  /** Of a tensor with this entry among its external_data. */
  private static byte[] tensor(String key, String value) {
    byte[] external = {14 << 3, 1}; // data_location
    byte[] name = joined(text(8, "weight"), external);
    return joined(name, field(13, joined(text(1, key), text(2, value))));
  }

  private static ModelFile read(Path folder, String name, byte[] content) throws IOException {
    return ModelFile.read(Files.write(folder.resolve(name), content).toString(), new Configuration(false));
  }

  @Test
  void weightsInASecondFileAreAnErrorThatNamesBoth(@TempDir Path folder) throws IOException {
    byte[] initializer = field(7, field(5, tensor("location", "weights.bin")));
    byte[] constant = field(7, field(1, field(5, field(5, tensor("location", "weights.bin")))));
    for (byte[] model : new byte[][] {initializer, constant}) {
      ThalwegException problem = assertThrows(ThalwegException.class, () -> read(folder, "net.onnx", model));
      assertTrue(problem.getMessage().contains("weights.bin"), problem.getMessage());
      assertTrue(problem.getMessage().contains(folder.resolve("net.onnx").toString()), problem.getMessage());
    }
  }

  @Test
  void otherFilesAreLeftToTheEngine(@TempDir Path folder) throws IOException {
    Files.writeString(folder.resolve("net.onnx.data"), "of another model");
    assertDoesNotThrow(() -> read(folder, "net.onnx", "model".getBytes(StandardCharsets.UTF_8)));
    assertDoesNotThrow(() -> read(folder, "net.onnx", new byte[0]));
    assertDoesNotThrow(() -> read(folder, "net.onnx", field(7, field(5, tensor("offset", "weights.bin")))));
    byte[] whole = field(7, field(5, tensor("location", "weights.bin")));
    assertDoesNotThrow(() -> read(folder, "net.onnx", Arrays.copyOf(whole, whole.length - 1)));
  }
}
