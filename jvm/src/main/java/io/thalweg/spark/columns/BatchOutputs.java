// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.Model;
import io.thalweg.Result;
import io.thalweg.Tensor;
import java.util.HashMap;
import java.util.Map;

/** What a model gave for a batch, and, where a column asks for it, what that says about classes. */
public final class BatchOutputs implements AutoCloseable {
  private final Model model;
  private final Result result;
  private final Map<Integer, Result> classes = new HashMap<>();

  /** Closes the result when it is closed. */
  public BatchOutputs(Model model, Result result) {
    this.model = model;
    this.result = result;
  }

  Tensor output(int index) {
    return result.tensor(index);
  }

  /** [rows, classes]. */
  Tensor probabilities(int index) {
    return classified(index).tensor(0);
  }

  /** [rows]. */
  Tensor classes(int index) {
    return classified(index).tensor(1);
  }

  private Result classified(int index) {
    return classes.computeIfAbsent(index, missing -> model.classify(result, index));
  }

  @Override
  public void close() {
    classes.values().forEach(Result::close);
    result.close();
  }
}
