// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import com.fasterxml.jackson.core.io.JsonStringEncoder;

/** Texts in JSON. */
public final class Json {
  private Json() {}

  /** Also a text of TOML. */
  public static String quoted(String text) {
    return '"' + new String(JsonStringEncoder.getInstance().quoteAsString(text)) + '"';
  }
}
