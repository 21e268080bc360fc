// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.ThalwegException;

/** A row whose values do not fit; the message names the column and what is wrong, whoever catches it adds the row. */
public final class BadRowException extends ThalwegException {
  private static final long serialVersionUID = 1L;

  public BadRowException(String message) {
    super(message);
  }
}
