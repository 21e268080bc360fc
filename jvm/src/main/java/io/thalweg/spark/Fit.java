// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.thalweg.HostCache;
import io.thalweg.Rendezvous;
import io.thalweg.ThalwegException;
import io.thalweg.Training;
import io.thalweg.ValueInfo;
import io.thalweg.spark.columns.SourceColumns;
import io.thalweg.spark.columns.TrainingColumns;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.StructType;

/** One fit, as the driver sees it. */
final class Fit {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String PACKED = "model.onnx";

  /** Makes the model that workers begin with, once nothing else is wrong. */
  private interface ModelMaker {
    StartModel make() throws IOException;
  }

  private final ThalwegEstimator estimator;
  private final StructType schema;
  private final boolean caseSensitive;
  private final Optional<AskedFeatures> features;
  /** Of the dataset. */
  private final String[] inputColumns;
  private final String[] labelColumns;
  /** The column that marks rows to validate on. */
  private final Optional<String> mark;
  private final Dataset<Row> rows;
  private final JavaSparkContext context;
  private final Workers workers;
  private final TrainingTexts texts;

  Fit(ThalwegEstimator estimator, Dataset<?> dataset) {
    this.estimator = estimator;
    this.schema = dataset.schema();
    this.caseSensitive = QueryPlans.caseSensitive(dataset);
    checkValues();
    SourceColumns source = new SourceColumns(schema, caseSensitive, column -> null);
    this.features = AskedFeatures.of(estimator);
    this.inputColumns = source.resolve(
        features.map(asked -> asked.sources().toArray(new String[0])).orElseGet(() -> estimator.required(estimator.inputCols())));
    this.labelColumns = source.resolve(estimator.required(estimator.labelCols()));
    this.mark = estimator.value(estimator.validationIndicatorCol()).map(source::resolve);
    this.rows = used(dataset.toDF(), source.imageNames());
    this.context = JavaSparkContext.fromSparkContext(dataset.sparkSession().sparkContext());
    this.workers = Workers.choose(context, estimator);
    this.texts = new TrainingTexts(rows, labelColumns, classNames());
  }

  private void checkValues() {
    ParamChecks.requireAtLeast(1, estimator.threads(), estimator);
    ParamChecks.requireAtLeast(0, estimator.memoryBytes(), estimator);
    ParamChecks.requireAtLeast(0, estimator.formSeconds(), estimator);
    ParamChecks.requireOneOf(new String[] {"fail", "skip"}, estimator.badRows(), estimator);
  }

  /** Before the first job: nobody wants to hear of these after hours of training. */
  private void checkOutputs(ModelDescription description) {
    if (description.outputs().size() > 1 && description.targets().isEmpty()) {
      throw new ThalwegException(
          "training takes models with one output; this one has " + description.outputs().size() + ": "
              + description.outputs().stream().map(ValueInfo::toString).collect(Collectors.joining(", ")));
    }
    estimator.schemaAfter(schema, description, caseSensitive);
  }

  /** With the columns that the model sees, and what names the images in messages: Spark need not read the others. */
  private Dataset<Row> used(Dataset<Row> all, Optional<String> imageNames) {
    Set<String> wanted = new LinkedHashSet<>(List.of(inputColumns));
    wanted.addAll(List.of(labelColumns));
    imageNames.ifPresent(wanted::add);
    List<Column> columns = new ArrayList<>();
    wanted.forEach(column -> columns.add(QueryPlans.column(all, column)));
    mark.ifPresent(
        column -> {
          if (wanted.contains(column)) {
            throw new ThalwegException(
                "validationIndicatorCol is '" + column + "', which is a column of features or labels as well: it has to be"
                    + " one that only marks rows to validate on");
          }
          columns.add(Validation.mark(all, column));
        });
    return all.select(columns.toArray(new Column[0]));
  }

  /** The trained model, in this host's cache. */
  TrainedModel run() {
    TrainingSettings settings = new TrainingSettings(estimator, sparkEncrypts());
    String source = estimator.required(estimator.model());
    try {
      if (!estimator.startsFromFile()) {
        ModelDescription description =
            settings.describe(workers.threads(), toml -> ModelDescription.parse(Training.describeModel(source, toml)));
        return train(settings, description, () -> StartModel.ofZoo(source));
      }
      Path packed = HostCache.standard().newFile(".onnx");
      try {
        ModelDescription description = describe(settings, packed);
        return train(settings, description, () -> broadcast(packed));
      } finally {
        Files.deleteIfExists(packed);
      }
    } catch (IOException failure) {
      throw new ThalwegException("the model cannot be trained: " + failure.getMessage(), failure);
    }
  }

  /** By spark.network.crypto, SASL (spark.authenticate.enableSaslEncryption) or TLS (spark.ssl.rpc). */
  private boolean sparkEncrypts() {
    return SparkEnv.get().securityManager().isEncryptionEnabled()
        || context.getConf().getBoolean("spark.ssl.rpc.enabled", false);
  }

  /** Of a file on any file system that Spark knows, which is written to {@code packed} for the workers. */
  private ModelDescription describe(TrainingSettings settings, Path packed) {
    ModelFile file = estimator.startFile(context.hadoopConfiguration());
    return settings.describe(workers.threads(), toml -> ModelDescription.of(file, toml, packed));
  }

  private StartModel broadcast(Path packed) throws IOException {
    return StartModel.ofFile(new BroadcastFile(packed, PACKED, HostCache.sha256(packed), context));
  }

  private TrainingColumns columns(ModelDescription description, String augmentation, boolean nanAllowed) {
    String preprocessing = estimator.value(estimator.preprocessing()).orElse(description.preprocessing());
    SourceColumns source = new SourceColumns(rows.schema(), caseSensitive, texts);
    return new TrainingColumns(
        new InputChoice(description, source, nanAllowed)
            .choose(features.isPresent() ? Optional.empty() : Optional.of(inputColumns), preprocessing),
        augmentation,
        description.targets(),
        source,
        labelColumns,
        nanAllowed);
  }

  private static boolean twoClasses(ModelDescription description) {
    return TwoClasses.inOneScore(description.outputs().get(0), description.loss());
  }

  /** Null if no rows are marked for it. */
  private Validation validation(ModelDescription description) {
    if (mark.isEmpty()) {
      if (description.patience() > 0) {
        throw new ThalwegException(
            "train.patience is set, but there is nothing to validate on: set validationIndicatorCol to a column that marks"
                + " some rows for it");
      }
      return null;
    }
    return new Validation(rows.schema().length() - 1, columns(description, null, true).json());
  }

  /** Null unless they are on a file system that the engine does not know. */
  private RemoteCheckpoints.Place checkpoints() {
    return estimator
        .value(estimator.checkpoints())
        .filter(RemoteCheckpoints::handles)
        .map(folder -> RemoteCheckpoints.find(folder, context.hadoopConfiguration()))
        .orElse(null);
  }

  /** The rows to validate on, or those to train on. */
  private Dataset<Row> marked(boolean forValidation) {
    if (mark.isEmpty()) {
      return rows;
    }
    Column marked = QueryPlans.column(rows, mark.get());
    return rows.where(forValidation ? marked : functions.not(marked));
  }

  /** Of each worker, at most, in memory; 0: the engine's default. */
  private long rowBytes(ModelDescription description) {
    long samples = (description.batchSize() + workers.count() - 1) / workers.count();
    long modelBytes = description.trainingBytes() + samples * description.sampleBytes();
    OptionalLong asked = OptionalLong.empty();
    if (estimator.isDefined(estimator.memoryBytes())) {
      asked = OptionalLong.of((long) estimator.required(estimator.memoryBytes()));
    }
    NativeMemory available = NativeMemory.of(context.getConf(), context.master());
    return available.rowBytes(workers.perExecutor(), modelBytes, asked).orElse(0);
  }

  /** With the features of the estimator, fitted to the rows to train on. */
  private ModelDescription withFeatures(ModelDescription start) {
    if (features.isEmpty()) {
      return start;
    }
    estimator.setProgress("features are fitted");
    return features.get().fit(start, marked(false), skipsBadRows());
  }

  private boolean skipsBadRows() {
    return estimator.value(estimator.badRows()).orElse("").equals("skip");
  }

  private TrainedModel train(TrainingSettings settings, ModelDescription start, ModelMaker maker) throws IOException {
    ModelLimit.checkResult(start.bytes(), context.getConf());
    checkOutputs(start);
    ModelDescription description = withFeatures(start);
    texts.knowNames(description.classNames());
    texts.knowCategories(CategoryFeatures.of(description));
    TrainingColumns columns = columns(
        description, estimator.value(estimator.augmentation()).orElse(null), settings.nanAllowed());
    int kinds = texts.classNames().size();
    TwoClasses.requireTwo(
        description, kinds, "the label column " + String.join(", ", labelColumns) + " holds " + kinds + " different texts");
    Validation validation = validation(description);
    if (validation != null && !columns.ofClasses() && !twoClasses(description)) {
      settings.setUsual("train.metric=\"\""); // accuracy else
    }
    long rowBytes = rowBytes(description);
    double formSeconds = estimator.value(estimator.formSeconds()).map(value -> (double) value).orElse(0.0);
    StartModel model = maker.make();
    try (FitTurn turn = workers.takeTurn();
        Rendezvous rendezvous = new Rendezvous(workers.driverHost(), workers.count(), formSeconds, settings.tls())) {
      TrainingPlan plan =
          new TrainingPlan(
              model,
              columns,
              validation,
              settings,
              new WorkerThreads(workers.threads(), workers.threadsAsked(), workers.perExecutor()),
              checkpoints(),
              rendezvous.address(),
              rendezvous.secret(),
              rowBytes,
              skipsBadRows(),
              metadata(description));
      JavaRDD<InternalRow> spread = workers.spread(marked(false), validation == null ? null : marked(true));
      try (TrainingJobs jobs = new TrainingJobs(spread, plan)) {
        return jobs.trained(new FitWatch(rendezvous, jobs, estimator::setProgress).await(), description.loss());
      }
    } finally {
      model.destroy();
    }
  }

  /** What prediction must know of the data, besides what the file of the model to begin with says. */
  private String metadata(ModelDescription description) throws JsonProcessingException {
    Map<String, String> properties = new LinkedHashMap<>();
    estimator.value(estimator.preprocessing()).ifPresent(json -> properties.put(ModelSignature.PREPROCESSING, json));
    if (!texts.classNames().isEmpty()) {
      properties.put(ModelSignature.CLASS_NAMES, MAPPER.writeValueAsString(texts.classNames()));
    }
    if (!texts.features().isEmpty()) {
      properties.put(CategoryFeatures.PROPERTY, CategoryFeatures.toJson(texts.features()));
    }
    if (features.isPresent()) {
      for (String key : List.of(CategoryFeatures.PROPERTY, InputChoice.COLUMNS)) {
        properties.put(key, description.property(key));
      }
    }
    return MAPPER.writeValueAsString(properties);
  }

  private List<String> classNames() {
    return estimator.value(estimator.classNames()).map(Arrays::asList).orElse(List.of());
  }
}
