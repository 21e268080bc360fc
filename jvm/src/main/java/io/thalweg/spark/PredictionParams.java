// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import org.apache.spark.ml.param.BooleanParam;
import org.apache.spark.ml.param.IntParam;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.ParamPair;
import org.apache.spark.ml.param.Params;
import org.apache.spark.ml.param.StringArrayParam;

/**
 * The parameters of prediction, for stages that have them. Spark finds a stage's parameters by its public methods, which
 * therefore are here too.
 */
public interface PredictionParams extends Params {
  /** The parameters of one stage. */
  final class Holder {
    final StringArrayParam inputCols;
    final StringArrayParam labelCols;
    final Param<String> loss;
    final StringArrayParam outputCols;
    final StringArrayParam outputs;
    final StringArrayParam outputKinds;
    final IntParam batchSize;
    final IntParam threads;
    final Param<String> precision;
    final Param<String> badRows;
    final Param<String> preprocessing;
    final BooleanParam spread;

    Holder(Params parent) {
      inputCols = new StringArrayParam(parent, "inputCols", "columns that the model's inputs are made of, in order");
      labelCols = new StringArrayParam(parent, "labelCols", "columns of labels to evaluate against; those of the fit");
      loss = new Param<>(parent, "loss", "to evaluate by; that of the fit");
      outputCols = new StringArrayParam(parent, "outputCols", "columns to add; by default one for each output of the model");
      outputs =
          new StringArrayParam(
              parent, "outputs", "the model's output for each of outputCols; by default the only one, or all in order");
      outputKinds =
          new StringArrayParam(
              parent, "outputKinds", "the form of each of outputCols: array, raw, probability, class, label, value or struct; one for all is enough");
      batchSize = new IntParam(parent, "batchSize", "rows of a run; 0: chosen by the size of a row");
      threads = new IntParam(parent, "threads", "threads of a run; 0: those of the task (spark.task.cpus)");
      precision = new Param<>(parent, "precision", "f32, bf16, or declared: what the model's metadata asks for, else f32");
      badRows = new Param<>(parent, "badRows", "what to do with rows whose values do not fit: fail or skip");
      preprocessing =
          new Param<>(parent, "preprocessing", "from an image to the model's input, as JSON; by default what the model carries");
      spread = new BooleanParam(parent, "spread", "whether rows in fewer partitions than there are cores go to all of these");
    }

    ParamPair<?>[] defaults() {
      return new ParamPair<?>[] {
        new ParamPair<>(outputKinds, new String[] {"array"}),
        new ParamPair<>(batchSize, 0),
        new ParamPair<>(threads, 0),
        new ParamPair<>(precision, "declared"),
        new ParamPair<>(badRows, "fail"),
        new ParamPair<>(spread, true)
      };
    }
  }

  Holder predictionParams();

  default StringArrayParam inputCols() {
    return predictionParams().inputCols;
  }

  default StringArrayParam labelCols() {
    return predictionParams().labelCols;
  }

  default Param<String> loss() {
    return predictionParams().loss;
  }

  default StringArrayParam outputCols() {
    return predictionParams().outputCols;
  }

  default StringArrayParam outputs() {
    return predictionParams().outputs;
  }

  default StringArrayParam outputKinds() {
    return predictionParams().outputKinds;
  }

  default IntParam batchSize() {
    return predictionParams().batchSize;
  }

  default IntParam threads() {
    return predictionParams().threads;
  }

  default Param<String> precision() {
    return predictionParams().precision;
  }

  default Param<String> badRows() {
    return predictionParams().badRows;
  }

  default Param<String> preprocessing() {
    return predictionParams().preprocessing;
  }

  default BooleanParam spread() {
    return predictionParams().spread;
  }

  default String[] getInputCols() {
    return getOrDefault(inputCols());
  }

  default String[] getLabelCols() {
    return getOrDefault(labelCols());
  }

  default String getLoss() {
    return getOrDefault(loss());
  }

  default String[] getOutputCols() {
    return getOrDefault(outputCols());
  }

  default String[] getOutputs() {
    return getOrDefault(outputs());
  }

  default String[] getOutputKinds() {
    return getOrDefault(outputKinds());
  }

  default int getBatchSize() {
    return (int) getOrDefault((Param<?>) batchSize());
  }

  default int getThreads() {
    return (int) getOrDefault((Param<?>) threads());
  }

  default String getPrecision() {
    return getOrDefault(precision());
  }

  default String getBadRows() {
    return getOrDefault(badRows());
  }

  default String getPreprocessing() {
    return getOrDefault(preprocessing());
  }

  default boolean getSpread() {
    return (boolean) getOrDefault((Param<?>) spread());
  }
}
