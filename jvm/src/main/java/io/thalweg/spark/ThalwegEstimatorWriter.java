// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.ml.util.DefaultParamsWriter;
import org.apache.spark.ml.util.MLWriter;

/**
 * Writes the metadata as Spark does for its own stages, and the model to begin with beside it: the parameter says only
 * where that was, which may be a file that its maker deletes.
 */
final class ThalwegEstimatorWriter extends MLWriter {
  private final ThalwegEstimator estimator;
  private ModelFile start;

  ThalwegEstimatorWriter(ThalwegEstimator estimator) {
    this.estimator = estimator;
  }

  /** Spark deletes what is there before it calls saveImpl, and the model may be among it. */
  @Override
  public void save(String path) throws IOException {
    readStart();
    super.save(path);
  }

  private void readStart() {
    if (start == null && estimator.startsFromFile()) {
      start = estimator.startFile(configuration());
    }
  }

  @Override
  public void saveImpl(String path) {
    readStart();
    try {
      new DefaultParamsWriter(estimator).session(sparkSession()).save(path);
      if (start != null) {
        start.copyTo(new Path(path, ThalwegEstimatorReader.START_MODEL), configuration());
      }
    } catch (IOException failure) {
      throw new java.io.UncheckedIOException("the estimator cannot be saved to " + path, failure);
    }
  }

  private Configuration configuration() {
    return sparkSession().sparkContext().hadoopConfiguration();
  }
}
