// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.Tensor;
import io.thalweg.ThalwegException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.Row;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Rows of a partition, a batch at a time, with what the inputs of a model are for them. Rows whose values do not fit end
 * the task with an error that names them, or are left out.
 */
public final class RowBatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RowBatch.class);

  private final Iterator<Row> source;
  private final int partition;
  private final int mostRows;
  private final boolean skipBadRows;
  private final RowInputs.Batch inputs;
  private List<Row> rows = new ArrayList<>();
  /** The number of each row in the partition. */
  private final List<Long> numbers = new ArrayList<>();
  /** A row that could not join the batch before it, and begins the next. */
  private Row waiting;
  private long rowsRead;
  private long rowsSkipped;

  public RowBatch(Iterator<Row> source, int partition, RowInputs inputs, int mostRows, boolean skipBadRows) {
    this.source = source;
    this.partition = partition;
    this.mostRows = mostRows;
    this.skipBadRows = skipBadRows;
    this.inputs = inputs.newBatch();
  }

  /** Takes the next rows; false if there are no more. */
  public boolean next(int threads) {
    do {
      fill();
      finish(threads);
    } while (rows.isEmpty() && hasSource());
    return !rows.isEmpty();
  }

  public List<Row> rows() {
    return rows;
  }

  /** The inputs for the batch, filled up to {@code total} rows. */
  public List<Tensor> tensors(int total) {
    return inputs.tensors(total);
  }

  @Override
  public void close() {
    inputs.close();
    if (rowsSkipped > 0) {
      LOG.warn("Thalweg has left out {} of the {} rows of partition {}", rowsSkipped, rowsRead, partition);
    }
  }

  private boolean hasSource() {
    return waiting != null || source.hasNext();
  }

  private void fill() {
    rows.clear();
    numbers.clear();
    inputs.clear();
    while (rows.size() < mostRows && hasSource()) {
      Row row = waiting;
      waiting = null;
      if (row == null) {
        row = source.next();
        ++rowsRead;
      }
      try {
        if (!inputs.accepts(row)) {
          waiting = row;
          return;
        }
        inputs.add(row, mostRows);
        rows.add(row);
        numbers.add(rowsRead - 1);
      } catch (BadRowException problem) {
        leaveOut(rowsRead - 1, problem.getMessage());
      }
    }
  }

  private void finish(int threads) {
    if (rows.isEmpty()) {
      return;
    }
    BitSet bad = new BitSet();
    String problem = inputs.finish(threads, bad);
    if (!bad.isEmpty()) {
      leaveOut(numbers.get(bad.nextSetBit(0)), problem);
      rowsSkipped += bad.cardinality() - 1;
      inputs.remove(bad);
      List<Row> kept = new ArrayList<>();
      for (int i = 0; i < rows.size(); ++i) {
        if (!bad.get(i)) {
          kept.add(rows.get(i));
        }
      }
      rows = kept;
    }
  }

  private void leaveOut(long number, String problem) {
    String text = "row " + number + " of partition " + partition + ": " + problem;
    if (!skipBadRows) {
      throw new ThalwegException(BadRowException.fatal(text));
    }
    if (rowsSkipped++ == 0) {
      LOG.warn("Thalweg leaves out {} (further ones of this partition are only counted)", text);
    }
  }
}
