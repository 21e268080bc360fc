// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.Tensor;
import java.io.Serializable;
import java.util.BitSet;
import java.util.List;
import org.apache.spark.sql.Row;

/** Where the inputs of a model come from, row by row. Made by the driver, which checks it; used by the tasks. */
public interface RowInputs extends Serializable {
  /** The rows that a run takes if the model fixes their number, otherwise -1. */
  long fixedRows();

  /** Of a row of all inputs, in bytes; -1 if it differs from row to row. */
  long rowBytes();

  Batch newBatch();

  /** Rows on their way to the model; used by one thread. */
  interface Batch extends AutoCloseable {
    /** Whether the row can join those that are in the batch. Throws BadRowException if it fits the model not at all. */
    boolean accepts(Row row);

    /** Appends a row to a batch of at most {@code capacity}. After a BadRowException the batch is as it was before. */
    void add(Row row, int capacity);

    void clear();

    /** Ends the filling of the batch; marks rows in {@code bad} that turn out to be bad only now, and says why the first is. */
    String finish(int threads, BitSet bad);

    /** Takes rows out of a finished batch. */
    void remove(BitSet which);

    /** The inputs, with {@code total} rows: those that are missing are copies of the last. They are good until the next call. */
    List<Tensor> tensors(int total);

    @Override
    void close();
  }
}
