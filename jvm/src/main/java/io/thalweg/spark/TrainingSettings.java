// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import io.thalweg.Training;
import io.thalweg.spark.columns.Json;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.ml.param.Param;

/** The parameters of an estimator as the settings of a job. */
final class TrainingSettings implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final String TLS = "group.tls";
  private static final String NON_FINITE = "train.non_finite";
  private static final String CHECKPOINTS = "output.checkpoints";
  /** How the engine names a setting in messages: by its place in a text that the user has never seen. */
  private static final Pattern PLACE = Pattern.compile("^settings: (?:line \\d+: )?(\\w+\\.\\w+)");

  /** As section.key=value. Of several to the same key the last counts. */
  private final ArrayList<String> assignments = new ArrayList<>();
  /** The parameters that settings come from; all others come from the parameter settings. */
  private final HashMap<String, String> parameters = new HashMap<>();

  /** {@code encrypted} is whether Spark encrypts what its own processes send each other. */
  TrainingSettings(ThalwegEstimator estimator, boolean encrypted) {
    assignments.add(TLS + "=" + encrypted);
    estimator.value(estimator.settings()).ifPresent(given -> assignments.addAll(List.of(given)));
    put("train.loss", estimator, estimator.loss());
    put("optimizer.name", estimator, estimator.optimizer());
    put("train.learning_rate", estimator, estimator.learningRate());
    put("train.epochs", estimator, estimator.epochs());
    put("train.batch_size", estimator, estimator.batchSize());
    put("train.seed", estimator, estimator.seed());
    put("scheme.name", estimator, estimator.scheme());
    if (!estimator.value(estimator.checkpoints()).map(RemoteCheckpoints::handles).orElse(false)) {
      put(CHECKPOINTS, estimator, estimator.checkpoints());
    }
    put("train.bad_samples", estimator, estimator.badRows());
    put(TLS, estimator, estimator.tls());
  }

  private TrainingSettings(List<String> assignments) {
    this.assignments.addAll(assignments);
  }

  /** Sets what nobody has set otherwise. */
  void setUsual(String assignment) {
    assignments.add(0, assignment);
  }

  /** Whether the workers' group uses TLS. */
  boolean tls() {
    return Boolean.parseBoolean(last(TLS));
  }

  /** Whether NaN in the rows is no error; batches whose loss is none are left out then. */
  boolean nanAllowed() {
    return last(NON_FINITE).contains("skip");
  }

  /** The value of a key; empty if there is none. */
  private String last(String key) {
    String last = "";
    for (String assignment : assignments) {
      int equals = assignment.indexOf('=');
      if (equals > 0 && assignment.substring(0, equals).strip().equals(key)) {
        last = assignment.substring(equals + 1).strip();
      }
    }
    return last;
  }

  /** For a worker with so many threads, unless the settings say how many. */
  String toml(int threads) {
    List<String> all = new ArrayList<>(List.of("train.threads=" + threads));
    all.addAll(assignments);
    return Training.settings(all.toArray(new String[0]));
  }

  /** What {@code describer} gives for {@link #toml}. Errors name the parameters that the settings come from. */
  ModelDescription describe(int threads, Function<String, ModelDescription> describer) {
    try {
      return describer.apply(toml(threads));
    } catch (ThalwegException problem) {
      throw explained(problem);
    }
  }

  private ThalwegException explained(ThalwegException problem) {
    Matcher place = PLACE.matcher(problem.getMessage());
    if (!place.find()) {
      return problem;
    }
    String parameter = parameters.getOrDefault(place.group(1), "settings: " + place.group(1));
    return new ThalwegException("the parameter " + parameter + problem.getMessage().substring(place.end()));
  }

  /** The same with checkpoints in this folder. */
  TrainingSettings withCheckpoints(Path folder) {
    TrainingSettings copy = new TrainingSettings(assignments);
    copy.assignments.add(CHECKPOINTS + "=" + Json.quoted(folder.toString()));
    return copy;
  }

  private void put(String key, ThalwegEstimator estimator, Param<?> param) {
    estimator
        .value(param)
        .ifPresent(
            given -> {
              assignments.add(key + "=" + (given instanceof String text ? Json.quoted(text) : given));
              parameters.put(key, param.name());
            });
  }
}
