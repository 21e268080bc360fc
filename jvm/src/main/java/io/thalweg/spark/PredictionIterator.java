// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.Model;
import io.thalweg.Result;
import io.thalweg.Tensor;
import io.thalweg.ThalwegException;
import io.thalweg.spark.columns.BadRowException;
import io.thalweg.spark.columns.BatchBuffer;
import io.thalweg.spark.columns.InputColumns;
import io.thalweg.spark.columns.OutputColumn;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The rows of a partition with the columns that a model adds. Rows are taken a batch at a time, when they are needed. */
final class PredictionIterator implements Iterator<Row> {
  private static final Logger LOG = LoggerFactory.getLogger(PredictionIterator.class);

  private final Model model;
  private final PredictionPlan plan;
  private final Iterator<Row> rows;
  private final int partition;
  private final List<BatchBuffer> buffers = new ArrayList<>();
  private final List<Row> batch = new ArrayList<>();
  private final ArrayDeque<Row> ready = new ArrayDeque<>();
  /** A row that has another shape than the batch before it, and begins the next. */
  private Row waiting;
  private long rowsRead;
  private long rowsSkipped;

  PredictionIterator(Model model, PredictionPlan plan, Iterator<Row> rows, int partition) {
    this.model = model;
    this.plan = plan;
    this.rows = rows;
    this.partition = partition;
    for (InputColumns columns : plan.inputs()) {
      buffers.add(new BatchBuffer(columns));
    }
  }

  @Override
  public boolean hasNext() {
    while (ready.isEmpty() && (waiting != null || rows.hasNext())) {
      fillBatch();
      runBatch();
    }
    return !ready.isEmpty();
  }

  @Override
  public Row next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return ready.remove();
  }

  private void fillBatch() {
    batch.clear();
    buffers.forEach(BatchBuffer::clear);
    while (batch.size() < plan.mostRows() && (waiting != null || rows.hasNext())) {
      Row row = waiting != null ? waiting : rows.next();
      rowsRead += waiting != null ? 0 : 1;
      waiting = null;
      try {
        if (!accepted(row)) {
          waiting = row;
          return;
        }
        add(row);
        batch.add(row);
      } catch (BadRowException problem) {
        skip(problem);
      }
    }
  }

  private boolean accepted(Row row) {
    for (BatchBuffer buffer : buffers) {
      if (!buffer.accepts(row)) {
        return false;
      }
    }
    return true;
  }

  /** To all inputs, or to none. */
  private void add(Row row) {
    int done = 0;
    try {
      for (; done < buffers.size(); ++done) {
        buffers.get(done).add(row, plan.mostRows());
      }
    } finally {
      if (done < buffers.size()) {
        buffers.subList(0, done).forEach(BatchBuffer::removeLast);
      }
    }
  }

  private void skip(BadRowException problem) {
    String text = "row " + (rowsRead - 1) + " of partition " + partition + ": " + problem.getMessage();
    if (!plan.skipBadRows()) {
      throw new ThalwegException(text);
    }
    if (rowsSkipped++ == 0) {
      LOG.warn("Thalweg leaves out {} (further ones of this partition are not reported)", text);
    }
  }

  private void runBatch() {
    if (batch.isEmpty()) {
      return;
    }
    int filled = plan.filledRows(batch.size());
    List<Tensor> inputs = new ArrayList<>();
    buffers.forEach(buffer -> inputs.add(buffer.tensor(filled)));
    try (Result result = model.run(inputs)) {
      List<Tensor> outputs = new ArrayList<>();
      for (OutputColumn column : plan.outputs()) {
        Tensor output = result.tensor(column.outputIndex());
        column.check(output, filled);
        outputs.add(output);
      }
      for (int row = 0; row < batch.size(); ++row) {
        ready.add(extended(batch.get(row), outputs, row));
      }
    }
  }

  private Row extended(Row row, List<Tensor> outputs, int index) {
    Object[] values = new Object[row.length() + outputs.size()];
    for (int i = 0; i < row.length(); ++i) {
      values[i] = row.get(i);
    }
    for (int i = 0; i < outputs.size(); ++i) {
      values[row.length() + i] = plan.outputs().get(i).value(outputs.get(i), index);
    }
    return RowFactory.create(values);
  }
}
