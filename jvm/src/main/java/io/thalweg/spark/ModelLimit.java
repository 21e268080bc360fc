// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.thalweg.ThalwegException;
import io.thalweg.jni.NativeModel;
import java.io.IOException;
import java.nio.file.Path;
import org.apache.spark.SparkConf;

/** How large a model may be here, said before anything is trained or broadcast. */
final class ModelLimit {
  /** An ONNX file with more weights than this has them in a second file. */
  private static final long MOST_BYTES = 2_000_000_000L;
  private static final String MAX_RESULT = "spark.driver.maxResultSize";
  private static final String ELSEWHERE =
      "; a program in C++ or Python takes it, and thalweg launch trains it without Spark";

  private ModelLimit() {}

  /** A worker gives the trained model back as one array in the result of its task. */
  static void checkResult(long bytes, SparkConf conf) {
    if (bytes > MOST_BYTES) {
      throw new ThalwegException(
          "the model has " + bytes + " bytes, and a Spark task can give back " + MOST_BYTES + " at most" + ELSEWHERE);
    }
    long allowed = conf.getSizeAsBytes(MAX_RESULT, "1g");
    if (allowed > 0 && bytes > allowed) {
      throw new ThalwegException(
          "the model has " + bytes + " bytes, but " + MAX_RESULT + " lets a job give back " + allowed
              + " only: set it to more than the model, or to 0");
    }
  }

  /** Only the file itself would reach the executors. {@code name} is what the user calls it. */
  static void checkSingleFile(Path model, String name) throws IOException {
    String[] others = new ObjectMapper().readValue(NativeModel.externalFiles(model.toString()), String[].class);
    if (others.length > 0) {
      throw new ThalwegException(
          "the model " + name + " has weights in a second file, " + String.join(", ", others)
              + ", as models of more than 2 GB have: Spark's stages take models of one file only. Save a smaller one without"
              + " external data" + ELSEWHERE);
    }
  }
}
