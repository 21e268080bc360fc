// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.thalweg.ThalwegException;
import io.thalweg.spark.columns.TextIndex;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The numbers of texts in the metadata of a model, in the form of the engine's features (docs/data.md). */
final class CategoryFeatures {
  static final String PROPERTY = "thalweg.features";
  private static final String KIND = "string_index";
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private CategoryFeatures() {}

  static String toJson(Map<String, TextIndex> indexes) {
    ArrayNode features = MAPPER.createArrayNode();
    indexes.forEach(
        (column, index) -> {
          ArrayNode categories = features.addObject().put("kind", KIND).put("column", column).putArray("categories");
          index.texts().forEach(categories::add);
        });
    return features.toString();
  }

  private static String ofColumn(JsonNode feature) {
    return feature.hasNonNull("column") ? " of column '" + feature.get("column").asText() + "'" : "";
  }

  /** By column; {@code json} may be null. Throws if the model has features of another kind, which nobody would apply. */
  static Map<String, TextIndex> fromJson(String json) {
    Map<String, TextIndex> indexes = new LinkedHashMap<>();
    try {
      for (JsonNode feature : MAPPER.readTree(json == null ? "[]" : json)) {
        String kind = feature.path("kind").asText();
        if (!kind.equals(KIND)) {
          throw new ThalwegException(
              "the model's metadata property " + PROPERTY + " has a feature of kind '" + kind + "'" + ofColumn(feature)
                  + "; on Spark " + KIND + " is known alone. Save the model without its features, and let Spark compute what they"
                  + " made of the columns; or predict with thalweg.Model in Python, or with the program thalweg predict");
        }
        List<String> categories = new ArrayList<>();
        feature.path("categories").forEach(text -> categories.add(text.asText()));
        indexes.put(feature.path("column").asText(), TextIndex.ofCategories(categories));
      }
      return indexes;
    } catch (JsonProcessingException problem) {
      throw new ThalwegException("the model's metadata property " + PROPERTY + " cannot be read: " + json, problem);
    }
  }
}
