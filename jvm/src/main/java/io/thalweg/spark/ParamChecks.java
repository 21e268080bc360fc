// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import java.util.Arrays;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.Params;

/** Refuses values of parameters by name. Spark's own validators say that a value is invalid, but not which ones are valid. */
final class ParamChecks {
  private ParamChecks() {}

  /** Throws if the parameter has a value that is smaller, or not a number. */
  static void requireAtLeast(double least, Param<?> param, Params stage) {
    if (!stage.isDefined(param)) {
      return;
    }
    Number value = (Number) stage.getOrDefault(param);
    if (!(value.doubleValue() >= least)) {
      throw new ThalwegException(
          "the parameter " + param.name() + " is " + value + ", must be at least " + (long) least + ": " + param.doc());
    }
  }

  /** Throws if the parameter has a value that is none of these. */
  static void requireOneOf(String[] valid, Param<String> param, Params stage) {
    if (stage.isDefined(param) && !Arrays.asList(valid).contains(stage.getOrDefault(param))) {
      throw new ThalwegException(
          "the parameter " + param.name() + " is '" + stage.getOrDefault(param) + "', must be one of "
              + String.join(", ", valid));
    }
  }
}
