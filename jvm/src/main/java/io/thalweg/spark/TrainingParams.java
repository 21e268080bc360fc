// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import org.apache.spark.ml.param.BooleanParam;
import org.apache.spark.ml.param.DoubleParam;
import org.apache.spark.ml.param.IntParam;
import org.apache.spark.ml.param.LongParam;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.Params;
import org.apache.spark.ml.param.StringArrayParam;

/**
 * The parameters of training. Those that are not set keep the engine's defaults, which are not repeated here. Spark finds
 * a stage's parameters by its public methods.
 */
public interface TrainingParams extends Params {
  /** The parameters of one stage. */
  final class Holder {
    final Param<String> model;
    final StringArrayParam inputCols;
    final StringArrayParam labelCols;
    final Param<String> validationIndicatorCol;
    final StringArrayParam outputCols;
    final StringArrayParam outputKinds;
    final Param<String> preprocessing;
    final Param<String> augmentation;
    final Param<String> features;
    final StringArrayParam classNames;
    final Param<String> loss;
    final Param<String> optimizer;
    final DoubleParam learningRate;
    final IntParam epochs;
    final IntParam batchSize;
    final LongParam seed;
    final Param<String> scheme;
    final Param<String> checkpoints;
    final StringArrayParam settings;
    final IntParam numWorkers;
    final IntParam threads;
    final LongParam memoryBytes;
    final DoubleParam formSeconds;
    final Param<String> badRows;
    final BooleanParam tls;

    Holder(Params parent) {
      model =
          new Param<>(
              parent, "model", "what to train: the path of an ONNX file, or zoo: and the name of a known model, as zoo:lenet");
      inputCols = new StringArrayParam(parent, "inputCols", "columns that the model's inputs are made of, in order");
      labelCols = new StringArrayParam(parent, "labelCols", "columns that hold the labels");
      validationIndicatorCol =
          new Param<>(
              parent,
              "validationIndicatorCol",
              "a column of true and false: rows in which it is true are not trained on but measured after every epoch");
      outputCols = new StringArrayParam(parent, "outputCols", "columns that the trained model adds (see ThalwegModel)");
      outputKinds = new StringArrayParam(parent, "outputKinds", "the form of each of outputCols (see ThalwegModel)");
      preprocessing =
          new Param<>(parent, "preprocessing", "of images, as JSON; it goes into the trained model and serves for prediction");
      augmentation = new Param<>(parent, "augmentation", "of images while training, as JSON; by default the preprocessing");
      features =
          new Param<>(
              parent,
              "features",
              "changes to columns of tables, as JSON: fitted to the rows before training; inputCols are columns after them");
      classNames = new StringArrayParam(parent, "classNames", "the names of the classes, for the trained model's metadata");
      loss = new Param<>(parent, "loss", "such as cross_entropy, mse or bce_with_logits");
      optimizer = new Param<>(parent, "optimizer", "such as sgd, adam or adamw; its options are among the settings");
      learningRate = new DoubleParam(parent, "learningRate", "of the optimiser");
      epochs = new IntParam(parent, "epochs", "how often all rows are taken");
      batchSize = new IntParam(parent, "batchSize", "rows of a step, of all workers together");
      seed = new LongParam(parent, "seed", "of the order of rows and of random numbers");
      scheme = new Param<>(parent, "scheme", "how workers agree: allreduce, or another that thalweg schemes lists");
      checkpoints =
          new Param<>(
              parent,
              "checkpoints",
              "a folder that all executors reach, on any file system that Spark knows; a fit goes on from what is there");
      settings =
          new StringArrayParam(
              parent, "settings", "any other setting of a job file, as section.key=value: optimizer.momentum=0.9");
      numWorkers = new IntParam(parent, "numWorkers", "tasks that train; by default one for each executor");
      threads = new IntParam(parent, "threads", "of each worker; by default its share of the executor's cores");
      memoryBytes = new LongParam(parent, "memoryBytes", "of each worker's rows; those beyond lie in a local file");
      formSeconds = new DoubleParam(parent, "formSeconds", "how long a worker may be missing, once the first has come; one that reads its rows is not missing");
      badRows = new Param<>(parent, "badRows", "what to do with rows that cannot be used: fail or skip");
      tls = new BooleanParam(parent, "tls", "encrypt what workers send each other; by default if Spark encrypts its own");
    }
  }

  Holder trainingParams();

  default Param<String> model() {
    return trainingParams().model;
  }

  default StringArrayParam inputCols() {
    return trainingParams().inputCols;
  }

  default StringArrayParam labelCols() {
    return trainingParams().labelCols;
  }

  default Param<String> validationIndicatorCol() {
    return trainingParams().validationIndicatorCol;
  }

  default StringArrayParam outputCols() {
    return trainingParams().outputCols;
  }

  default StringArrayParam outputKinds() {
    return trainingParams().outputKinds;
  }

  default Param<String> preprocessing() {
    return trainingParams().preprocessing;
  }

  default Param<String> augmentation() {
    return trainingParams().augmentation;
  }

  default Param<String> features() {
    return trainingParams().features;
  }

  default StringArrayParam classNames() {
    return trainingParams().classNames;
  }

  default Param<String> loss() {
    return trainingParams().loss;
  }

  default Param<String> optimizer() {
    return trainingParams().optimizer;
  }

  default DoubleParam learningRate() {
    return trainingParams().learningRate;
  }

  default IntParam epochs() {
    return trainingParams().epochs;
  }

  default IntParam batchSize() {
    return trainingParams().batchSize;
  }

  default LongParam seed() {
    return trainingParams().seed;
  }

  default Param<String> scheme() {
    return trainingParams().scheme;
  }

  default Param<String> checkpoints() {
    return trainingParams().checkpoints;
  }

  default StringArrayParam settings() {
    return trainingParams().settings;
  }

  default IntParam numWorkers() {
    return trainingParams().numWorkers;
  }

  default IntParam threads() {
    return trainingParams().threads;
  }

  default LongParam memoryBytes() {
    return trainingParams().memoryBytes;
  }

  default DoubleParam formSeconds() {
    return trainingParams().formSeconds;
  }

  default Param<String> badRows() {
    return trainingParams().badRows;
  }

  default BooleanParam tls() {
    return trainingParams().tls;
  }

  default String getModel() {
    return getOrDefault(model());
  }

  default String[] getInputCols() {
    return getOrDefault(inputCols());
  }

  default String[] getLabelCols() {
    return getOrDefault(labelCols());
  }

  default String getValidationIndicatorCol() {
    return getOrDefault(validationIndicatorCol());
  }

  default String[] getOutputCols() {
    return getOrDefault(outputCols());
  }

  default String[] getOutputKinds() {
    return getOrDefault(outputKinds());
  }

  default String getPreprocessing() {
    return getOrDefault(preprocessing());
  }

  default String getAugmentation() {
    return getOrDefault(augmentation());
  }

  default String getFeatures() {
    return getOrDefault(features());
  }

  default String[] getClassNames() {
    return getOrDefault(classNames());
  }

  default String getLoss() {
    return getOrDefault(loss());
  }

  default String getOptimizer() {
    return getOrDefault(optimizer());
  }

  default double getLearningRate() {
    return (double) getOrDefault((Param<?>) learningRate());
  }

  default int getEpochs() {
    return (int) getOrDefault((Param<?>) epochs());
  }

  default int getBatchSize() {
    return (int) getOrDefault((Param<?>) batchSize());
  }

  default long getSeed() {
    return (long) getOrDefault((Param<?>) seed());
  }

  default String getScheme() {
    return getOrDefault(scheme());
  }

  default String getCheckpoints() {
    return getOrDefault(checkpoints());
  }

  default String[] getSettings() {
    return getOrDefault(settings());
  }

  default int getNumWorkers() {
    return (int) getOrDefault((Param<?>) numWorkers());
  }

  default int getThreads() {
    return (int) getOrDefault((Param<?>) threads());
  }

  default long getMemoryBytes() {
    return (long) getOrDefault((Param<?>) memoryBytes());
  }

  default double getFormSeconds() {
    return (double) getOrDefault((Param<?>) formSeconds());
  }

  default String getBadRows() {
    return getOrDefault(badRows());
  }

  default boolean getTls() {
    return (boolean) getOrDefault((Param<?>) tls());
  }
}
