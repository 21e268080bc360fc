// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.ml.util.DefaultParamsReader;
import org.apache.spark.ml.util.MLReader;

/** Reads what {@link ThalwegEstimatorWriter} wrote. */
final class ThalwegEstimatorReader extends MLReader<ThalwegEstimator> {
  /** An ONNX file, or one of the engine's own. */
  static final String START_MODEL = "start_model";

  @Override
  public ThalwegEstimator load(String path) {
    ThalwegEstimator estimator = new DefaultParamsReader<ThalwegEstimator>().session(sparkSession()).load(path);
    Path start = new Path(path, START_MODEL);
    Configuration configuration = sparkSession().sparkContext().hadoopConfiguration();
    try {
      if (start.getFileSystem(configuration).exists(start)) {
        estimator.startFrom(start.toString(), configuration);
      }
      return estimator;
    } catch (IOException failure) {
      throw new java.io.UncheckedIOException("the estimator cannot be read from " + path, failure);
    }
  }
}
