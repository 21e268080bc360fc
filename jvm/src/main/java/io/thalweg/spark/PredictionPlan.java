// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.Model;
import io.thalweg.spark.columns.OutputColumn;
import io.thalweg.spark.columns.RowInputs;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.types.StructType;

/**
 * How a model is applied to the rows of a partition; made by the driver, sent to the tasks.
 *
 * @param batchRows of each run; 0: chosen by the size of a row
 * @param threads of each run; 0: those of the task
 * @param skipBadRows leave out rows whose values do not fit, rather than fail
 */
record PredictionPlan(
    RowInputs inputs,
    List<OutputColumn> outputs,
    int batchRows,
    int threads,
    Model.Precision precision,
    boolean skipBadRows)
    implements Serializable {
  /** Of the input of a batch: enough to keep the kernels busy, little enough to stay close to the caches. */
  private static final long BATCH_BYTES = 8 << 20;
  private static final int MOST_ROWS = 1024;
  private static final int ROWS_OF_UNKNOWN_SIZE = 32;

  /** The schema after the stage. */
  StructType schema(StructType before, boolean caseSensitive) {
    return OutputColumn.appended(before, outputs, caseSensitive);
  }

  /** The most rows of a run. */
  int mostRows() {
    if (inputs.fixedRows() > 0) {
      return (int) inputs.fixedRows();
    }
    return batchRows > 0 ? batchRows : chosenRows();
  }

  private int chosenRows() {
    long bytes = inputs.rowBytes();
    if (bytes < 0) {
      return ROWS_OF_UNKNOWN_SIZE;
    }
    return roundUp((int) Math.max(1, Math.min(MOST_ROWS, BATCH_BYTES / Math.max(1, bytes))));
  }

  /**
   * The rows that a batch of {@code rows} is filled up to. The engine compiles the model for each number of rows: powers
   * of two keep these few, whatever the sizes of the partitions.
   */
  int filledRows(int rows) {
    return inputs.fixedRows() > 0 ? (int) inputs.fixedRows() : Math.min(mostRows(), roundUp(rows));
  }

  private static int roundUp(int rows) {
    return rows <= 1 ? 1 : Integer.highestOneBit(rows - 1) << 1;
  }
}
