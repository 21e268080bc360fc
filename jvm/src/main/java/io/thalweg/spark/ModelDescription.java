// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.thalweg.DType;
import io.thalweg.ThalwegException;
import io.thalweg.Training;
import io.thalweg.ValueInfo;
import io.thalweg.spark.columns.ClassNumbers;
import io.thalweg.spark.columns.TrainingColumns.Target;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;

/**
 * A model that is to be trained, as tw_training_model describes it.
 *
 * @param loss its name
 * @param targets what the loss takes for a row, in the order of preference
 * @param patience validations without a better score after which training stops; 0: it does not
 * @param bytes of all weights
 * @param trainingBytes that weights, gradients and the optimiser need
 * @param sampleBytes that each sample of a batch needs
 * @param metadata what its file says of its data; empty for a model of the zoo
 * @param description all of this as JSON, for {@link io.thalweg.Preparation}
 */
record ModelDescription(
    List<ValueInfo> inputs,
    List<ValueInfo> outputs,
    String loss,
    List<Target> targets,
    long batchSize,
    long patience,
    long bytes,
    long trainingBytes,
    long sampleBytes,
    Map<String, String> metadata,
    String description)
    implements InputChoice.OfModel {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Of a file, which is written to {@code packed} for the workers unless that is null. */
  static ModelDescription of(ModelFile file, String settings, Path packed) {
    try {
      String source = file.path().toString();
      return parse(packed == null ? Training.describeModel(source, settings) : Training.describeModel(source, settings, packed));
    } catch (ThalwegException problem) {
      throw file.explained(problem);
    } finally {
      Reference.reachabilityFence(file);
    }
  }

  static ModelDescription parse(String json) {
    JsonNode node = read(json);
    return new ModelDescription(
        values(node.get("inputs")),
        values(node.get("outputs")),
        node.get("loss").asText(),
        targets(node.get("targets")),
        node.get("batch_size").asLong(),
        node.get("patience").asLong(),
        node.get("bytes").asLong(),
        node.get("memory").get("weights").asLong(),
        node.get("memory").get("sample").asLong(),
        MAPPER.convertValue(node.get("metadata"), new TypeReference<Map<String, String>>() {}),
        json);
  }

  /** The same model with other properties in its file. */
  ModelDescription with(Map<String, String> properties) {
    ObjectNode node = (ObjectNode) read(description);
    ObjectNode metadataNode = (ObjectNode) node.get("metadata");
    properties.forEach(metadataNode::put);
    return parse(node.toString());
  }

  /** Of what {@link io.thalweg.Scores#targets} gives. */
  static List<Target> targets(String json) {
    return targets(read(json));
  }

  /** How many the loss knows, if labels are such. */
  OptionalLong classes() {
    return targets.stream().filter(target -> target.classes() != null).mapToLong(target -> target.classes().count()).findFirst();
  }

  @Override
  public String property(String key) {
    return metadata.get(key);
  }

  /** From an image to the model's input, as JSON; null if its file does not say it. */
  String preprocessing() {
    return metadata.get(ModelSignature.PREPROCESSING);
  }

  /** Of the classes; empty if its file does not say them. */
  List<String> classNames() {
    return ModelSignature.names(metadata.get(ModelSignature.CLASS_NAMES));
  }

  private static JsonNode read(String json) {
    try {
      return MAPPER.readTree(json);
    } catch (JsonProcessingException problem) {
      throw new ThalwegException("the engine's description of a model cannot be read: " + json, problem);
    }
  }

  private static List<ValueInfo> values(JsonNode nodes) {
    List<ValueInfo> values = new ArrayList<>();
    nodes.forEach(node -> values.add(new ValueInfo(node.get("name").asText(), dtype(node), dims(node))));
    return values;
  }

  private static List<Target> targets(JsonNode nodes) {
    List<Target> targets = new ArrayList<>();
    nodes.forEach(node -> targets.add(new Target(dtype(node), dims(node), classes(node.path("classes")))));
    return targets;
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
