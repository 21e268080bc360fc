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
import java.util.Optional;

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

  /** By column; empty if there are none, or the engine applies them itself. */
  static Map<String, TextIndex> of(InputChoice.OfModel model) {
    return fromJson(model.property(PROPERTY)).orElse(Map.of());
  }

  /** By column; {@code json} may be null. Nothing if there are features of other kinds, which the engine applies itself. */
  static Optional<Map<String, TextIndex>> fromJson(String json) {
    Map<String, TextIndex> indexes = new LinkedHashMap<>();
    try {
      for (JsonNode feature : MAPPER.readTree(json == null ? "[]" : json)) {
        if (!feature.path("kind").asText().equals(KIND)) {
          return Optional.empty();
        }
        List<String> categories = new ArrayList<>();
        feature.path("categories").forEach(text -> categories.add(text.asText()));
        indexes.put(feature.path("column").asText(), TextIndex.ofCategories(categories));
      }
      return Optional.of(indexes);
    } catch (JsonProcessingException problem) {
      throw new ThalwegException("the model's metadata property " + PROPERTY + " cannot be read: " + json, problem);
    }
  }
}
