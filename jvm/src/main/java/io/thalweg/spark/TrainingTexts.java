// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import io.thalweg.spark.columns.SourceColumns;
import io.thalweg.spark.columns.TextIndex;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;

/**
 * Numbers the texts in columns that a model is trained on, in the order of their bytes: a pass over the rows for each
 * column that is asked for, unless the names of the classes are given.
 */
final class TrainingTexts implements SourceColumns.Texts {
  /** More are no categories but free text; the driver has them all in memory. */
  private static final int MOST = 100_000;

  private final Dataset<Row> rows;
  private final List<String> labelColumns;
  private final Map<String, TextIndex> labels = new LinkedHashMap<>();
  private final Map<String, TextIndex> features = new LinkedHashMap<>();
  private List<String> knownNames = List.of();

  /** {@code classNames} is empty if they are to be found among the labels. */
  TrainingTexts(Dataset<Row> rows, String[] labelColumns, List<String> classNames) {
    this.rows = rows;
    this.labelColumns = List.of(labelColumns);
    if (!classNames.isEmpty()) {
      for (String column : labelColumns) {
        labels.put(column, TextIndex.ofClasses(classNames));
      }
    }
  }

  /** The classes of the model to begin with keep their numbers if all labels are among them. */
  void knowNames(List<String> names) {
    knownNames = names;
  }

  /** The categories of the model to begin with keep their numbers: its weights have learnt these. */
  void knowCategories(Map<String, TextIndex> categories) {
    features.putAll(categories);
  }

  @Override
  public TextIndex of(String column) {
    if (labelColumns.contains(column)) {
      if (labelColumns.size() > 1) {
        throw new ThalwegException("column '" + column + "' is of type string; texts as labels have to be the only label column");
      }
      return labels.computeIfAbsent(column, missing -> TextIndex.ofClasses(classesOf(column)));
    }
    return features.computeIfAbsent(column, missing -> TextIndex.ofCategories(distinct(column)));
  }

  /** What the labels are called; empty if they are no texts. */
  List<String> classNames() {
    return labels.isEmpty() ? List.of() : labels.values().iterator().next().texts();
  }

  Map<String, TextIndex> features() {
    return features;
  }

  private List<String> classesOf(String column) {
    List<String> found = distinct(column);
    return knownNames.containsAll(found) ? knownNames : found;
  }

  private List<String> distinct(String column) {
    Column texts = QueryPlans.column(rows, column);
    Dataset<Row> some = rows.select(texts).where(texts.isNotNull()).distinct().limit(MOST + 1);
    List<String> found = some.orderBy(some.columns()[0]).as(Encoders.STRING()).collectAsList();
    if (found.size() > MOST) {
      throw new ThalwegException(
          "column '" + column + "' holds more than " + MOST + " different texts: too many for classes or categories");
    }
    return found;
  }
}
