// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;

/** The numbers 0, 1, ... that stand for texts. */
public final class TextIndex implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int NAMED_TEXTS = 20;

  private final ArrayList<String> texts;
  private final HashMap<String, Integer> numbers = new HashMap<>();
  private final boolean closed;

  private TextIndex(List<String> texts, boolean closed) {
    this.texts = new ArrayList<>(texts);
    this.closed = closed;
    for (int i = 0; i < texts.size(); ++i) {
      numbers.put(texts.get(i), i);
    }
  }

  /** Of labels: there are no others. */
  public static TextIndex ofClasses(List<String> names) {
    return new TextIndex(names, true);
  }

  /** Of a feature: all others have the number after the last, as the engine's StringIndex has it. */
  public static TextIndex ofCategories(List<String> texts) {
    return new TextIndex(texts, false);
  }

  public List<String> texts() {
    return texts;
  }

  long number(String text) {
    Integer number = numbers.get(text);
    if (number != null) {
      return number;
    }
    if (closed) {
      String known = String.join(", ", texts.subList(0, Math.min(NAMED_TEXTS, texts.size())));
      throw new BadRowException(
          "holds '" + text + "', which is none of the " + texts.size() + " classes: " + known
              + (texts.size() > NAMED_TEXTS ? ", ..." : ""));
    }
    return texts.size();
  }
}
