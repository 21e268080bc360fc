// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.DType;
import io.thalweg.Scores;
import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.Row;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A column of a model's answers and the columns of labels that they are compared with. */
public final class ScoreColumns implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Logger LOG = LoggerFactory.getLogger(ScoreColumns.class);
  private static final int BATCH_ROWS = 256;

  private final NumberField.NumberSpec outputs;
  private final NumberField.NumberSpec labels;

  /**
   * @param output the column of the answers, which are {@code info}
   * @param targets what the loss takes for a row, in the order of preference; none if there is no loss
   */
  public ScoreColumns(
      SourceColumns source, String output, ValueInfo info, String[] labelColumns, List<TrainingColumns.Target> targets) {
    long[] rowDims = Arrays.copyOfRange(info.dims(), 1, info.dims().length);
    outputs = spec(DType.F32, rowDims, List.of(source.reader(output)), null);
    List<ColumnReader> readers = Arrays.stream(labelColumns).map(source::reader).toList();
    boolean scalars = Arrays.stream(labelColumns).allMatch(source::isScalar);
    if (targets.isEmpty()) {
      labels = spec(DType.F64, scalars ? columns(readers.size()) : rowDims, readers, null);
      return;
    }
    TrainingColumns.Target target = TrainingColumns.choose(targets, readers, scalars);
    long[] dims = target.elements() == 1 ? columns(1) : target.dims();
    labels = spec(DType.F64, dims, readers, target.isClass() ? target.classes() : null);
  }

  /** Metrics want a single label of a row without a dimension of its own. */
  private static long[] columns(int count) {
    return count == 1 ? new long[0] : new long[] {count};
  }

  private static NumberField.NumberSpec spec(
      DType dtype, long[] dims, List<ColumnReader> readers, ClassNumbers classes) {
    return new NumberField.NumberSpec("scores", "input", dtype, dims, new ArrayList<>(readers), classes, true);
  }

  /** Whether the labels are numbers of classes. */
  public boolean ofClasses() {
    return labels.classes() != null;
  }

  /** Adds all rows, a batch at a time; rows whose labels do not fit are an error that names them, or left out. */
  public void addTo(Scores scores, Iterator<Row> rows, int partition, boolean skipBadRows) {
    long read = 0;
    long skipped = 0;
    try (TrainingField output = outputs.newField();
        TrainingField label = labels.newField()) {
      while (rows.hasNext()) {
        output.clear();
        label.clear();
        int count = 0;
        for (; count < BATCH_ROWS && rows.hasNext(); ++read) {
          try {
            Row row = rows.next();
            label.add(row);
            output.add(row);
            ++count;
          } catch (BadRowException problem) {
            String text = "row " + read + " of partition " + partition + ": " + problem.getMessage();
            if (!skipBadRows) {
              throw new ThalwegException(BadRowException.fatal(text));
            }
            if (skipped++ == 0) {
              LOG.warn("Thalweg leaves out {} (further ones of this partition are only counted)", text);
            }
          }
        }
        scores.add(count, output.bytes(), outputs.dims(), label.bytes(), labels.dims());
      }
    }
    if (skipped > 0) {
      LOG.warn("Thalweg has left out {} of the {} rows of partition {}", skipped, read, partition);
    }
  }
}
