// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

/** What the engine, or the way to it, reports: the message names the file, row, column or shape that it is about. */
public class ThalwegException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public ThalwegException(String message) {
    super(message);
  }

  public ThalwegException(String message, Throwable cause) {
    super(message, cause);
  }
}
