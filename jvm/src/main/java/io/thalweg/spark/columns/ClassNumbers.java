// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import java.io.Serializable;

/** The labels that a loss takes: 0 to {@code count} - 1, and one that stands for none. */
public record ClassNumbers(long count, long ignored) implements Serializable {
  boolean contain(long label) {
    return (label >= 0 && label < count) || label == ignored;
  }
}
