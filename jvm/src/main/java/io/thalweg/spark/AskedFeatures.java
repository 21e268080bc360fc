// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import io.thalweg.spark.columns.Json;
import io.thalweg.spark.columns.PreparedInputs;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * Features that an estimator fits before it trains.
 *
 * @param json as the user gave them: what they hold of earlier data does not count
 * @param columns of the model's inputs, as they are called after the features
 */
record AskedFeatures(String json, List<String> columns) {
  /** Nothing if the estimator has no features of its own. */
  static Optional<AskedFeatures> of(ThalwegEstimator estimator) {
    return estimator
        .value(estimator.features())
        .map(json -> new AskedFeatures(json, Arrays.asList(estimator.required(estimator.inputCols()))));
  }

  /** The columns that rows must have. */
  List<String> sources() {
    String anyModel =
        "{\"inputs\": [{\"name\": \"x\", \"dtype\": null, \"shape\": null}], \"metadata\": {"
            + Json.quoted(CategoryFeatures.PROPERTY) + ": " + Json.quoted(json) + ", "
            + Json.quoted(InputChoice.COLUMNS) + ": " + Json.quoted("[" + quoted(columns) + "]") + "}}";
    return PreparedInputs.needs(anyModel);
  }

  /** What the features make of the model, once they have learned of the rows. */
  ModelDescription fit(ModelDescription model, Dataset<Row> rows, boolean skipBadRows) {
    String inputs = ofInputs(model.inputs());
    Map<String, String> properties = new LinkedHashMap<>();
    properties.put(CategoryFeatures.PROPERTY, FittedFeatures.fit(rows, json, skipBadRows));
    properties.put(InputChoice.COLUMNS, inputs);
    return model.with(properties);
  }

  /** A list for each input: of several, each gets as many columns as its rows have elements. */
  private String ofInputs(List<ValueInfo> inputs) {
    if (inputs.size() == 1) {
      return "[" + quoted(columns) + "]";
    }
    List<String> lists = new ArrayList<>();
    int next = 0;
    for (ValueInfo input : inputs) {
      long width = input.rowElements();
      if (width < 0 || width > columns.size() - next) {
        throw new ThalwegException(
            "the model's inputs " + inputs.stream().map(ValueInfo::toString).collect(Collectors.joining(", "))
                + " cannot be made of the " + columns.size() + " inputCols " + String.join(", ", columns) + ", one after the other");
      }
      lists.add(quoted(columns.subList(next, next += (int) width)));
    }
    if (next != columns.size()) {
      throw new ThalwegException("inputCols has " + columns.size() + " columns, the model's inputs take " + next);
    }
    return "[" + String.join(", ", lists) + "]";
  }

  private static String quoted(List<String> names) {
    return names.stream().map(Json::quoted).collect(Collectors.joining(", ", "[", "]"));
  }
}
