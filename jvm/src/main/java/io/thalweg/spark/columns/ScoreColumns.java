// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.DType;
import io.thalweg.Scores;
import java.io.Serializable;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.Row;

/** A column of a model's answers and the columns of labels that they are compared with. */
public final class ScoreColumns implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int BATCH_ROWS = 256;

  private final NumberField.NumberSpec outputs;
  private final NumberField.NumberSpec labels;

  /** {@code outputElements} and {@code labelElements} are those of one row. */
  public ScoreColumns(SourceColumns source, String output, long outputElements, String[] labelColumns, long labelElements) {
    outputs = spec(source, DType.F32, outputElements, output);
    labels = spec(source, DType.F64, labelElements, labelColumns);
  }

  private static NumberField.NumberSpec spec(SourceColumns source, DType dtype, long elements, String... columns) {
    List<ColumnReader> readers = Arrays.stream(columns).map(source::reader).toList();
    return new NumberField.NumberSpec("scores", "input", dtype, new long[] {elements}, readers);
  }

  /** Adds all rows, a batch at a time. */
  public void addTo(Scores scores, Iterator<Row> rows) {
    try (TrainingField output = outputs.newField();
        TrainingField label = labels.newField()) {
      while (rows.hasNext()) {
        output.clear();
        label.clear();
        int count = 0;
        for (; count < BATCH_ROWS && rows.hasNext(); ++count) {
          Row row = rows.next();
          output.add(row);
          label.add(row);
        }
        scores.add(count, output.bytes(), outputs.dims()[0], label.bytes(), labels.dims()[0]);
      }
    }
  }
}
