// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalweg.ThalwegException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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

  @Test
  void weightsInASecondFileAreAnErrorThatNamesIt(@TempDir Path folder) throws IOException {
    Path model = Files.writeString(folder.resolve("net.onnx"), "model");
    assertDoesNotThrow(() -> ModelFile.read(model.toString(), new Configuration(false)));
    Files.writeString(folder.resolve("net.onnx.data"), "weights");
    expectError("net.onnx.data", () -> ModelFile.read(model.toString(), new Configuration(false)));
  }
}
