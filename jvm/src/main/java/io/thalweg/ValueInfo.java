// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import java.io.Serializable;
import java.util.Arrays;

/**
 * An input or output of a model.
 *
 * @param dtype null if the model does not say
 * @param dims outermost first, -1 where the size may differ from run to run; null if not even their number is known
 */
public record ValueInfo(String name, DType dtype, long[] dims) implements Serializable {
  /** Elements of one row, that is, without the outermost dimension; -1 if that is not fixed. */
  public long rowElements() {
    if (dims == null) {
      return -1;
    }
    long elements = 1;
    for (int i = 1; i < dims.length; ++i) {
      if (dims[i] < 0) {
        return -1;
      }
      elements = Math.multiplyExact(elements, dims[i]);
    }
    return elements;
  }

  /** The rows that a run takes if the model fixes their number, otherwise -1. */
  public long fixedRows() {
    return dims == null || dims.length == 0 ? -1 : dims[0];
  }

  @Override
  public String toString() {
    return name + " " + (dtype == null ? "?" : dtype.name().toLowerCase()) + (dims == null ? "" : Arrays.toString(dims));
  }
}
