// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.Training;
import io.thalweg.spark.columns.Json;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.ml.param.Param;

/** The parameters of an estimator as the settings of a job. */
final class TrainingSettings {
  private static final String TLS = "group.tls";

  private final ThalwegEstimator estimator;
  /** Of several to the same key the last counts. */
  private final List<String> assignments = new ArrayList<>();

  /** {@code encrypted} is whether Spark encrypts what its own processes send each other. */
  TrainingSettings(ThalwegEstimator estimator, int threads, boolean encrypted) {
    this.estimator = estimator;
    assignments.add("train.threads=" + threads);
    assignments.add(TLS + "=" + encrypted);
    estimator.value(estimator.settings()).ifPresent(given -> assignments.addAll(List.of(given)));
    put("train.loss", estimator.loss());
    put("optimizer.name", estimator.optimizer());
    put("train.learning_rate", estimator.learningRate());
    put("train.epochs", estimator.epochs());
    put("train.batch_size", estimator.batchSize());
    put("train.seed", estimator.seed());
    put("scheme.name", estimator.scheme());
    put("output.checkpoints", estimator.checkpoints());
    put("train.bad_samples", estimator.badRows());
    put(TLS, estimator.tls());
  }

  /** Whether the workers' group uses TLS. */
  boolean tls() {
    String last = "";
    for (String assignment : assignments) {
      if (assignment.startsWith(TLS + "=")) {
        last = assignment.substring(TLS.length() + 1);
      }
    }
    return Boolean.parseBoolean(last);
  }

  String toml() {
    return Training.settings(assignments.toArray(new String[0]));
  }

  private void put(String key, Param<?> param) {
    estimator
        .value(param)
        .ifPresent(given -> assignments.add(key + "=" + (given instanceof String text ? Json.quoted(text) : given)));
  }
}
