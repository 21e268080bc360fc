// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.ThalwegException;

/** A row whose values do not fit; the message names the column and what is wrong, whoever catches it adds the row. */
public final class BadRowException extends ThalwegException {
  private static final long serialVersionUID = 1L;
  private static final String ADVICE = "; to leave out such rows set the parameter badRows to skip";

  public BadRowException(String message) {
    super(message);
  }

  /** What ends a task, or a fit, that may not leave the row out. */
  public static String fatal(String rowAndProblem) {
    return rowAndProblem + ADVICE;
  }
}
