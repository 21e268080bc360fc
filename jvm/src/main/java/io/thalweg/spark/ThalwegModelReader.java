// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import org.apache.spark.ml.util.DefaultParamsReader;
import org.apache.spark.ml.util.MLReader;

/** Reads what {@link ThalwegModelWriter} wrote. */
final class ThalwegModelReader extends MLReader<ThalwegModel> {
  @Override
  public ThalwegModel load(String path) {
    ThalwegModel model = new DefaultParamsReader<ThalwegModel>().session(sparkSession()).load(path);
    model.use(ModelFile.read(path + "/" + ModelFile.NAME, sparkSession().sparkContext().hadoopConfiguration()));
    return model;
  }
}
