// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import io.thalweg.spark.columns.Json;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.ml.param.Param;

/** The parameters of an estimator as the settings of a job, in TOML. */
final class TrainingSettings {
  private static final String TLS = "group.tls";

  private final Map<String, String> lines = new LinkedHashMap<>();

  /** {@code encrypted} is whether Spark encrypts what its own processes send each other. */
  TrainingSettings(ThalwegEstimator estimator, int threads, boolean encrypted) {
    put("train.threads", Integer.toString(threads));
    put(TLS, Boolean.toString(encrypted));
    estimator.value(estimator.settings()).ifPresent(this::putAll);
    put("train.loss", estimator, estimator.loss());
    put("optimizer.name", estimator, estimator.optimizer());
    put("train.learning_rate", estimator, estimator.learningRate());
    put("train.epochs", estimator, estimator.epochs());
    put("train.batch_size", estimator, estimator.batchSize());
    put("train.seed", estimator, estimator.seed());
    put("scheme.name", estimator, estimator.scheme());
    put("output.checkpoints", estimator, estimator.checkpoints());
    put("train.bad_samples", estimator, estimator.badRows());
    put(TLS, estimator, estimator.tls());
  }

  /** Whether the workers' group uses TLS. */
  boolean tls() {
    return Boolean.parseBoolean(lines.get(TLS));
  }

  String toml() {
    StringBuilder text = new StringBuilder();
    lines.forEach((key, value) -> text.append(key).append(" = ").append(value).append('\n'));
    return text.toString();
  }

  private void put(String key, ThalwegEstimator estimator, Param<?> param) {
    Optional<?> value = estimator.value(param);
    value.ifPresent(given -> put(key, given instanceof String text ? Json.quoted(text) : given.toString()));
  }

  private void put(String key, String value) {
    lines.put(key, value);
  }

  private void putAll(String[] assignments) {
    for (String assignment : assignments) {
      int equals = assignment.indexOf('=');
      if (equals <= 0 || assignment.substring(0, equals).indexOf('.') < 0) {
        throw new ThalwegException("the setting '" + assignment + "' is not of the form section.key=value");
      }
      put(assignment.substring(0, equals).strip(), literal(assignment.substring(equals + 1).strip()));
    }
  }

  /** Text needs no quotes. */
  private static String literal(String value) {
    boolean number = value.matches("[+-]?[0-9][0-9_]*(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
    boolean other = value.equals("true") || value.equals("false") || value.startsWith("\"") || value.startsWith("[");
    return number || other ? value : Json.quoted(value);
  }
}
