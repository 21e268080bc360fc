// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ThalwegModelTest {
  @TempDir private Path folder;

  private static SparkSession session() {
    return SparkSession.builder()
        .master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate();
  }

  private ThalwegModel model() throws Exception {
    Path file = folder.resolve("sum.onnx");
    try (InputStream stream = Doctor.class.getResourceAsStream("/io/thalweg/spark/sum.onnx")) {
      Files.write(file, stream.readAllBytes());
    }
    return ThalwegModel.fromFile(file.toString()).setInputCols("x").setOutputCols("sum");
  }

  @Test
  void copiesShareTheBroadcastOfAnApplication() throws Exception {
    ThalwegModel model;
    BroadcastFile first;
    try (SparkSession session = session()) {
      model = model();
      first = model.copy(new ParamMap()).broadcast(session);
      assertSame(first, model.broadcast(session));
      assertSame(first, model.copy(new ParamMap()).copy(new ParamMap()).broadcast(session));
    }
    try (SparkSession another = session()) {
      assertNotSame(first, model.copy(new ParamMap()).broadcast(another));
      assertSame(model.broadcast(another), model.copy(new ParamMap()).broadcast(another));
      assertEquals(first.hash(), model.broadcast(another).hash());
    }
  }
}
