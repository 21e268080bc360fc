// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
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

  /** Only the file itself would reach the executors. */
  static void checkSingleFile(Path model, FileSystem system) throws IOException {
    for (String suffix : new String[] {".data", "_data"}) {
      Path beside = model.suffix(suffix);
      if (system.exists(beside)) {
        throw new ThalwegException(
            "the model " + model + " has weights in a second file, " + beside.getName()
                + ", as models of more than 2 GB have: Spark's stages take models of one file only" + ELSEWHERE);
      }
    }
  }
}
