// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.thalweg.DType;
import io.thalweg.HostCache;
import io.thalweg.Rendezvous;
import io.thalweg.ThalwegException;
import io.thalweg.Training;
import io.thalweg.ValueInfo;
import io.thalweg.spark.columns.ClassNumbers;
import io.thalweg.spark.columns.ModelInput;
import io.thalweg.spark.columns.SourceColumns;
import io.thalweg.spark.columns.TrainingColumns;
import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** One fit, as the driver sees it. */
final class Fit {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String ZOO = "zoo:";
  private static final String PACKED = "model.safetensors";

  /** Makes the model that workers begin with, once nothing else is wrong. */
  private interface ModelMaker {
    StartModel make() throws IOException;
  }

  private final ThalwegEstimator estimator;
  private final Dataset<Row> rows;
  private final JavaSparkContext context;
  private final Workers workers;
  private final TrainingTexts texts;

  Fit(ThalwegEstimator estimator, Dataset<?> dataset) {
    this.estimator = estimator;
    this.rows = used(dataset.toDF());
    this.context = JavaSparkContext.fromSparkContext(dataset.sparkSession().sparkContext());
    this.workers = Workers.choose(context, estimator);
    this.texts = new TrainingTexts(rows, estimator.required(estimator.labelCols()), classNames());
  }

  /** With the columns that the model sees, and what names the images in messages: Spark need not read the others. */
  private Dataset<Row> used(Dataset<Row> all) {
    SourceColumns source = new SourceColumns(all.schema(), column -> null);
    Set<String> wanted = new LinkedHashSet<>(List.of(estimator.required(estimator.inputCols())));
    wanted.addAll(List.of(estimator.required(estimator.labelCols())));
    wanted.forEach(source::type);
    source.imageNames().ifPresent(wanted::add);
    return all.select(wanted.stream().map(column -> QueryPlans.column(all, column)).toArray(Column[]::new));
  }

  /** The trained model, in this host's cache. */
  TrainedModel run() {
    TrainingSettings settings = new TrainingSettings(estimator, workers.threads(), sparkEncrypts());
    String source = estimator.required(estimator.model());
    try {
      if (source.startsWith(ZOO)) {
        JsonNode description = MAPPER.readTree(Training.describeModel(source, settings.toml()));
        return train(settings, description, () -> StartModel.ofZoo(source));
      }
      Path packed = HostCache.standard().newFile(".safetensors");
      try {
        JsonNode description = describe(source, settings, packed);
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
  private JsonNode describe(String source, TrainingSettings settings, Path packed) throws IOException {
    ModelFile file = ModelFile.read(source, context.hadoopConfiguration());
    try {
      return MAPPER.readTree(Training.describeModel(file.path().toString(), settings.toml(), packed));
    } finally {
      Reference.reachabilityFence(file);
    }
  }

  private StartModel broadcast(Path packed) throws IOException {
    return StartModel.ofFile(new BroadcastFile(packed, PACKED, HostCache.sha256(packed), context));
  }

  private TrainingColumns columns(JsonNode description) {
    List<ValueInfo> inputs = new ArrayList<>();
    for (JsonNode input : description.get("inputs")) {
      inputs.add(new ValueInfo(input.get("name").asText(), dtype(input), dims(input)));
    }
    List<TrainingColumns.Target> targets = new ArrayList<>();
    for (JsonNode target : description.get("targets")) {
      targets.add(new TrainingColumns.Target(dtype(target), dims(target), classes(target.path("classes"))));
    }
    String preprocessing = estimator.value(estimator.preprocessing()).orElse(null);
    SourceColumns source = new SourceColumns(rows.schema(), texts);
    return new TrainingColumns(
        ModelInput.assign(inputs, source, estimator.required(estimator.inputCols()), preprocessing),
        estimator.value(estimator.augmentation()).orElse(null),
        targets,
        source,
        estimator.required(estimator.labelCols()));
  }

  /** Of each worker, at most, in memory; 0: the engine's default. */
  private long rowBytes(JsonNode description) {
    JsonNode memory = description.get("memory");
    long samples = (description.get("batch_size").asLong() + workers.count() - 1) / workers.count();
    long modelBytes = memory.get("weights").asLong() + samples * memory.get("sample").asLong();
    OptionalLong asked = OptionalLong.empty();
    if (estimator.isDefined(estimator.memoryBytes())) {
      asked = OptionalLong.of((long) estimator.required(estimator.memoryBytes()));
    }
    NativeMemory available = NativeMemory.of(context.getConf(), context.master());
    return available.rowBytes(workers.perExecutor(), modelBytes, asked).orElse(0);
  }

  private TrainedModel train(TrainingSettings settings, JsonNode description, ModelMaker maker) throws IOException {
    ModelLimit.checkResult(description.get("bytes").asLong(), context.getConf());
    TrainingColumns columns = columns(description);
    long rowBytes = rowBytes(description);
    double formSeconds = estimator.value(estimator.formSeconds()).map(value -> (double) value).orElse(0.0);
    StartModel model = maker.make();
    try (Rendezvous rendezvous = new Rendezvous(workers.driverHost(), workers.count(), formSeconds, settings.tls())) {
      TrainingPlan plan =
          new TrainingPlan(
              model,
              columns,
              settings.toml(),
              rendezvous.address(),
              rendezvous.secret(),
              rowBytes,
              estimator.value(estimator.badRows()).orElse("").equals("skip"),
              metadata());
      try (TrainingJobs jobs = new TrainingJobs(workers.spread(rows), plan)) {
        return TrainedModel.of(new FitWatch(rendezvous, jobs, estimator::setProgress).await());
      }
    } finally {
      model.destroy();
    }
  }

  /** What prediction must know of the data. */
  private String metadata() throws JsonProcessingException {
    Map<String, String> properties = new LinkedHashMap<>();
    estimator.value(estimator.preprocessing()).ifPresent(json -> properties.put(ModelSignature.PREPROCESSING, json));
    if (!texts.classNames().isEmpty()) {
      properties.put(ModelSignature.CLASS_NAMES, MAPPER.writeValueAsString(texts.classNames()));
    }
    if (!texts.features().isEmpty()) {
      properties.put(CategoryFeatures.PROPERTY, CategoryFeatures.toJson(texts.features()));
    }
    return MAPPER.writeValueAsString(properties);
  }

  private List<String> classNames() {
    return estimator.value(estimator.classNames()).map(Arrays::asList).orElse(List.of());
  }

  private static DType dtype(JsonNode value) {
    return DType.valueOf(value.get("dtype").asText().toUpperCase(Locale.ROOT));
  }

  private static ClassNumbers classes(JsonNode value) {
    return value.isMissingNode() ? null : new ClassNumbers(value.get("count").asLong(), value.get("ignored").asLong());
  }

  private static long[] dims(JsonNode value) {
    long[] dims = new long[value.get("shape").size()];
    for (int i = 0; i < dims.length; ++i) {
      dims[i] = value.get("shape").get(i).asLong();
    }
    return dims;
  }
}
