// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.io.IOException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.ml.util.DefaultParamsWriter;
import org.apache.spark.ml.util.MLWriter;

/** Writes the metadata as Spark does for its own stages, and the model beside it. */
final class ThalwegModelWriter extends MLWriter {
  private final ThalwegModel model;

  ThalwegModelWriter(ThalwegModel model) {
    this.model = model;
  }

  @Override
  public void saveImpl(String path) {
    try {
      new DefaultParamsWriter(model).session(sparkSession()).save(path);
      model.file().copyTo(new Path(path, ModelFile.NAME), sparkSession().sparkContext().hadoopConfiguration());
    } catch (IOException failure) {
      throw new java.io.UncheckedIOException("the model cannot be saved to " + path, failure);
    }
  }
}
