// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.ThalwegException;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** In which form an output of a model becomes a column. */
public enum OutputKind {
  /** The elements of the row as an array, of arrays if the row has several dimensions. */
  ARRAY,
  /** The elements of the row as a vector of Spark ML. */
  RAW,
  /** The probabilities of the classes as a vector. */
  PROBABILITY,
  /** The number of the most probable class, as a double, as Spark's own classifiers have it. */
  CLASS,
  /** The name of the most probable class; the model must carry names. */
  LABEL,
  /** The only element of the row. */
  VALUE,
  /** A struct of the row's shape and its elements, for outputs whose shape differs from row to row. */
  STRUCT;

  public static OutputKind of(String name) {
    for (OutputKind kind : values()) {
      if (kind.toString().equals(name)) {
        return kind;
      }
    }
    String known = Arrays.stream(values()).map(OutputKind::toString).collect(Collectors.joining(", "));
    throw new ThalwegException("there is no kind of output '" + name + "'; the kinds are " + known);
  }

  /** Whether it is made of what the output says about classes. */
  boolean isOfClasses() {
    return this == PROBABILITY || this == CLASS || this == LABEL;
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
