// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.thalweg.Model;
import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import io.thalweg.spark.columns.SourceColumns;
import io.thalweg.spark.columns.TextIndex;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a model takes and gives, as the driver needs it to check columns before anything runs.
 *
 * @param classNames empty if the model carries none
 * @param metadata what its file says of data
 * @param description all of it, for {@link io.thalweg.Preparation}
 */
record ModelSignature(
    List<ValueInfo> inputs,
    List<ValueInfo> outputs,
    List<String> classNames,
    Map<String, String> metadata,
    String description)
    implements InputChoice.OfModel {
  static final String CLASS_NAMES = "thalweg.class_names";
  static final String PREPROCESSING = "thalweg.preprocessing";

  /** Loads the model, so that one the engine cannot run is refused here and not by a task. */
  static ModelSignature of(ModelFile file) {
    try (Model model = new Model(file.path(), 0, Model.Precision.DECLARED)) {
      return new ModelSignature(
          model.inputs(),
          model.outputs(),
          names(model.metadata(CLASS_NAMES)),
          metadata(model),
          model.description());
    } catch (ThalwegException problem) {
      throw file.explained(problem);
    }
  }

  private static Map<String, String> metadata(Model model) {
    Map<String, String> found = new LinkedHashMap<>();
    for (String key : List.of(PREPROCESSING, CategoryFeatures.PROPERTY, InputChoice.COLUMNS, InputChoice.TEXT)) {
      String value = model.metadata(key);
      if (value != null) {
        found.put(key, value);
      }
    }
    return found;
  }

  @Override
  public String property(String key) {
    return metadata.get(key);
  }

  /** The numbers of the texts in a column; null if the model does not know them. */
  TextIndex categoriesOf(String column, boolean caseSensitive) {
    return CategoryFeatures.of(this).entrySet().stream()
        .filter(entry -> SourceColumns.same(entry.getKey(), column, caseSensitive))
        .map(Map.Entry::getValue)
        .findFirst()
        .orElse(null);
  }

  /** The numbers of labels that are texts; null if the model does not say what its classes are called. */
  TextIndex classes() {
    return classNames.isEmpty() ? null : TextIndex.ofClasses(classNames);
  }

  /** Of the classes, by the metadata property; empty if there is none. */
  static List<String> names(String json) {
    if (json == null) {
      return List.of();
    }
    try {
      return List.of(new ObjectMapper().readValue(json, String[].class));
    } catch (JsonProcessingException problem) {
      throw new ThalwegException("the model's metadata property " + CLASS_NAMES + " is no list of texts: " + json, problem);
    }
  }
}
