// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import io.thalweg.spark.columns.OutputKind;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.spark.ml.Estimator;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.ml.util.DefaultParamsReader;
import org.apache.spark.ml.util.DefaultParamsWriter;
import org.apache.spark.ml.util.Identifiable$;
import org.apache.spark.ml.util.MLReader;
import org.apache.spark.ml.util.MLWritable;
import org.apache.spark.ml.util.MLWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/** Trains a model on the rows of a DataFrame, in the executors that Spark has, and gives a {@link ThalwegModel}. */
public final class ThalwegEstimator extends Estimator<ThalwegModel> implements TrainingParams, MLWritable {
  private static final long serialVersionUID = 1L;

  private final String uid;
  private final transient TrainingParams.Holder params;
  private transient volatile String progress = "";

  public ThalwegEstimator() {
    this(Identifiable$.MODULE$.randomUID("ThalwegEstimator"));
  }

  public ThalwegEstimator(String uid) {
    this.uid = uid;
    params = new TrainingParams.Holder(this);
  }

  @Override
  public String uid() {
    return uid;
  }

  @Override
  public TrainingParams.Holder trainingParams() {
    return params;
  }

  public ThalwegEstimator setModel(String source) {
    return (ThalwegEstimator) set(model(), source);
  }

  public ThalwegEstimator setInputCols(String... columns) {
    return (ThalwegEstimator) set(inputCols(), columns);
  }

  public ThalwegEstimator setLabelCols(String... columns) {
    return (ThalwegEstimator) set(labelCols(), columns);
  }

  public ThalwegEstimator setOutputCols(String... columns) {
    return (ThalwegEstimator) set(outputCols(), columns);
  }

  public ThalwegEstimator setOutputKinds(String... kinds) {
    return (ThalwegEstimator) set(outputKinds(), kinds);
  }

  public ThalwegEstimator setPreprocessing(String json) {
    return (ThalwegEstimator) set(preprocessing(), json);
  }

  public ThalwegEstimator setAugmentation(String json) {
    return (ThalwegEstimator) set(augmentation(), json);
  }

  public ThalwegEstimator setClassNames(String... names) {
    return (ThalwegEstimator) set(classNames(), names);
  }

  public ThalwegEstimator setLoss(String name) {
    return (ThalwegEstimator) set(loss(), name);
  }

  public ThalwegEstimator setOptimizer(String name) {
    return (ThalwegEstimator) set(optimizer(), name);
  }

  public ThalwegEstimator setLearningRate(double rate) {
    return (ThalwegEstimator) set(learningRate(), (Object) rate);
  }

  public ThalwegEstimator setEpochs(int count) {
    return (ThalwegEstimator) set(epochs(), (Object) count);
  }

  public ThalwegEstimator setBatchSize(int rows) {
    return (ThalwegEstimator) set(batchSize(), (Object) rows);
  }

  public ThalwegEstimator setSeed(long number) {
    return (ThalwegEstimator) set(seed(), (Object) number);
  }

  public ThalwegEstimator setScheme(String name) {
    return (ThalwegEstimator) set(scheme(), name);
  }

  public ThalwegEstimator setCheckpoints(String folder) {
    return (ThalwegEstimator) set(checkpoints(), folder);
  }

  public ThalwegEstimator setSettings(String... assignments) {
    return (ThalwegEstimator) set(settings(), assignments);
  }

  public ThalwegEstimator setNumWorkers(int count) {
    return (ThalwegEstimator) set(numWorkers(), (Object) count);
  }

  public ThalwegEstimator setThreads(int count) {
    return (ThalwegEstimator) set(threads(), (Object) count);
  }

  public ThalwegEstimator setMemoryBytes(long bytes) {
    return (ThalwegEstimator) set(memoryBytes(), (Object) bytes);
  }

  public ThalwegEstimator setFormSeconds(double seconds) {
    return (ThalwegEstimator) set(formSeconds(), (Object) seconds);
  }

  public ThalwegEstimator setBadRows(String what) {
    return (ThalwegEstimator) set(badRows(), what);
  }

  public ThalwegEstimator setTls(boolean encrypt) {
    return (ThalwegEstimator) set(tls(), (Object) encrypt);
  }

  /** How the fit under way goes, in a line; empty before its first step. For front ends that cannot see the console. */
  public String progress() {
    return progress;
  }

  void setProgress(String line) {
    progress = line;
  }

  @Override
  public ThalwegModel fit(Dataset<?> dataset) {
    progress = "";
    TrainedModel trained = new Fit(this, dataset).run();
    ThalwegModel model = new ThalwegModel(uid, trained);
    model.setInputCols(required(inputCols()));
    value(outputCols()).ifPresent(model::setOutputCols);
    value(outputKinds()).or(() -> kindsFor(dataset.schema())).ifPresent(model::setOutputKinds);
    value(badRows()).ifPresent(model::setBadRows);
    return model.setParent(this);
  }

  /** Labels that are texts come out as texts. */
  private Optional<String[]> kindsFor(StructType schema) {
    boolean texts =
        Arrays.stream(required(labelCols())).anyMatch(column -> schema.apply(column).dataType() instanceof StringType);
    return texts ? Optional.of(new String[] {OutputKind.LABEL.toString()}) : Optional.empty();
  }

  /** Checks what can be checked without the model; what the model adds is known once it is there. */
  @Override
  public StructType transformSchema(StructType schema) {
    for (Param<String[]> columns : List.of(inputCols(), labelCols())) {
      for (String column : required(columns)) {
        schema.apply(column);
      }
    }
    return schema;
  }

  <T> T required(Param<T> param) {
    return value(param)
        .orElseThrow(
            () -> new ThalwegException("the parameter " + param.name() + " of " + uid + " is not set: " + param.doc()));
  }

  <T> Optional<T> value(Param<T> param) {
    return isDefined(param) ? Optional.of(getOrDefault(param)) : Optional.empty();
  }

  @Override
  public ThalwegEstimator copy(ParamMap extra) {
    return defaultCopy(extra);
  }

  @Override
  public MLWriter write() {
    return new DefaultParamsWriter(this);
  }

  public static MLReader<ThalwegEstimator> read() {
    return new DefaultParamsReader<>();
  }

  public static ThalwegEstimator load(String path) {
    return read().load(path);
  }
}
