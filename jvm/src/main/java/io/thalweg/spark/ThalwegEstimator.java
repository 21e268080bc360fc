// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import io.thalweg.Training;
import io.thalweg.spark.columns.OutputColumn;
import io.thalweg.spark.columns.OutputKind;
import io.thalweg.spark.columns.SourceColumns;
import io.thalweg.spark.columns.TextIndex;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.ml.Estimator;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.ml.util.Identifiable$;
import org.apache.spark.ml.util.MLReader;
import org.apache.spark.ml.util.MLWritable;
import org.apache.spark.ml.util.MLWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;

/** Trains a model on the rows of a DataFrame, in the executors that Spark has, and gives a {@link ThalwegModel}. */
public final class ThalwegEstimator extends Estimator<ThalwegModel> implements TrainingParams, MLWritable {
  private static final long serialVersionUID = 1L;
  private static final String ZOO = "zoo:";

  private final String uid;
  private final transient TrainingParams.Holder params;
  private transient volatile String progress = "";
  /** The model of a stage that was read: what it was read from may be replaced. */
  private transient ModelFile start;
  private transient String startSource;

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

  public ThalwegEstimator setValidationIndicatorCol(String column) {
    return (ThalwegEstimator) set(validationIndicatorCol(), column);
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

  public ThalwegEstimator setFeatures(String json) {
    return (ThalwegEstimator) set(features(), json);
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
    if (!isDefined(features())) {
      model.setInputCols(required(inputCols()));
    }
    value(outputCols()).ifPresent(model::setOutputCols);
    SourceColumns source = source(dataset.schema(), QueryPlans.caseSensitive(dataset));
    value(outputKinds()).or(() -> kindsFor(source)).ifPresent(model::setOutputKinds);
    model.setLabelCols(required(labelCols())).setLoss(trained.loss());
    value(badRows()).ifPresent(model::setBadRows);
    return model.setParent(this);
  }

  /** Labels that are texts come out as texts, in a column that has been given a name. */
  private Optional<String[]> kindsFor(SourceColumns source) {
    return value(outputCols()).isPresent() && hasTexts(source) ? Optional.of(new String[] {OutputKind.LABEL.toString()}) : Optional.empty();
  }

  private boolean hasTexts(SourceColumns source) {
    return Arrays.stream(required(labelCols())).anyMatch(source::isText);
  }

  /** Before anybody has looked at the rows: what texts there are is not known. */
  private static SourceColumns source(StructType schema, boolean caseSensitive) {
    return new SourceColumns(schema, caseSensitive, column -> TextIndex.ofCategories(List.of()));
  }

  /** As the trained model will have it. */
  @Override
  public StructType transformSchema(StructType schema) {
    boolean caseSensitive = SQLConf.get().caseSensitiveAnalysis();
    SourceColumns source = source(schema, caseSensitive);
    source.resolve(required(labelCols()));
    value(validationIndicatorCol()).ifPresent(source::resolve);
    return schemaAfter(schema, describe(), caseSensitive);
  }

  /** The same of a model that is known already. Throws if the trained model could not give the columns that are asked for. */
  StructType schemaAfter(StructType schema, ModelDescription description, boolean caseSensitive) {
    SourceColumns source = source(schema, caseSensitive);
    Optional<AskedFeatures> asked = AskedFeatures.of(this);
    if (asked.isPresent()) {
      // What they make of the rows is known once they have seen them.
      asked.get().sources().forEach(source::resolve);
    } else {
      String[] inputs = source.resolve(required(inputCols()));
      new InputChoice(description, source, false)
          .choose(Optional.of(inputs), value(preprocessing()).orElse(description.preprocessing()));
    }
    checkClassNames(description);
    return OutputColumn.appended(schema, outputColumns(source, description), caseSensitive);
  }

  private void checkClassNames(ModelDescription description) {
    OptionalLong classes = description.classes();
    int named = value(classNames()).map(names -> names.length).orElse(0);
    TwoClasses.requireTwo(description, named, "classNames has " + named + " entries");
    if (named > 0 && classes.isPresent() && named != classes.getAsLong()) {
      throw new ThalwegException(
          "classNames has " + named + " entries, but the model has " + classes.getAsLong() + " classes");
    }
  }

  private List<OutputColumn> outputColumns(SourceColumns source, ModelDescription description) {
    String[] kinds = value(outputKinds()).or(() -> kindsFor(source)).orElse(null);
    List<String> classes =
        value(classNames()).map(List::of).orElse(hasTexts(source) ? List.of("of the labels") : description.classNames());
    return OutputColumn.list(value(outputCols()).orElse(null), null, kinds, description.outputs(), classes);
  }

  private ModelDescription describe() {
    TrainingSettings settings = new TrainingSettings(this, false);
    if (!startsFromFile()) {
      return settings.describe(1, toml -> ModelDescription.parse(Training.describeModel(required(model()), toml)));
    }
    ModelFile file = startFile(SparkSession.active().sparkContext().hadoopConfiguration());
    return settings.describe(1, toml -> ModelDescription.of(file, toml, null));
  }

  /** Whether the model to begin with is no known one, which is built where it is needed. */
  boolean startsFromFile() {
    return value(model()).map(source -> !source.startsWith(ZOO)).orElse(false);
  }

  /** The model to begin with, from any file system that Spark knows. */
  ModelFile startFile(Configuration configuration) {
    String source = required(model());
    return source.equals(startSource) ? start : ModelFile.read(source, configuration);
  }

  /** Begins with this file, as it is now. */
  void startFrom(String source, Configuration configuration) {
    setModel(source);
    start = ModelFile.read(source, configuration);
    startSource = source;
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
    ThalwegEstimator copied = copyValues(new ThalwegEstimator(uid), extra);
    copied.start = start;
    copied.startSource = startSource;
    return copied;
  }

  @Override
  public MLWriter write() {
    return new ThalwegEstimatorWriter(this);
  }

  public static MLReader<ThalwegEstimator> read() {
    return new ThalwegEstimatorReader();
  }

  public static ThalwegEstimator load(String path) {
    return read().load(path);
  }
}
