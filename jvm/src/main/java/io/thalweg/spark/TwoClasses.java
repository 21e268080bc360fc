// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import java.util.Set;

/** Two classes that one number tells apart: labels are 0 and 1 then, though the loss takes any number for them. */
final class TwoClasses {
  private static final Set<String> LOSSES = Set.of("bce", "bce_with_logits");

  private TwoClasses() {}

  /** Whether a model with this output is trained for them; {@code loss} may be null. */
  static boolean inOneScore(ValueInfo output, String loss) {
    return loss != null && LOSSES.contains(loss) && output.rowElements() == 1;
  }

  /** Throws if {@code names}, of which {@code what} has so many, cannot be those of the two; none are no names. */
  static void requireTwo(ModelDescription description, int names, String what) {
    if (names != 0 && names != 2 && inOneScore(description.outputs().get(0), description.loss())) {
      throw new ThalwegException(
          what + ", but one score, trained by " + description.loss() + ", tells two classes apart; for more, let the model have"
              + " an output for each and take cross_entropy");
    }
  }
}
