// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.Model;
import io.thalweg.Tensor;
import io.thalweg.spark.columns.BatchOutputs;
import io.thalweg.spark.columns.OutputColumn;
import io.thalweg.spark.columns.RowBatch;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;

/** The rows of a partition with the columns that a model adds. Rows are taken a batch at a time, when they are needed. */
final class PredictionIterator implements Iterator<Row> {
  private final Model model;
  private final PredictionPlan plan;
  private final RowBatch batch;
  private final int threads;
  private final ArrayDeque<Row> ready = new ArrayDeque<>();

  PredictionIterator(Model model, PredictionPlan plan, RowBatch batch, int threads) {
    this.model = model;
    this.plan = plan;
    this.batch = batch;
    this.threads = threads;
  }

  @Override
  public boolean hasNext() {
    if (ready.isEmpty() && batch.next(threads)) {
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

  private void runBatch() {
    int filled = plan.filledRows(batch.rows().size());
    try (BatchOutputs outputs = new BatchOutputs(model, model.run(batch.tensors(filled)))) {
      List<Tensor> tensors = new ArrayList<>();
      for (OutputColumn column : plan.outputs()) {
        tensors.add(column.tensor(outputs, filled));
      }
      for (int row = 0; row < batch.rows().size(); ++row) {
        ready.add(extended(batch.rows().get(row), tensors, row));
      }
    }
  }

  private Row extended(Row row, List<Tensor> tensors, int index) {
    Object[] values = new Object[row.length() + tensors.size()];
    for (int i = 0; i < row.length(); ++i) {
      values[i] = row.get(i);
    }
    for (int i = 0; i < tensors.size(); ++i) {
      values[row.length() + i] = plan.outputs().get(i).value(tensors.get(i), index);
    }
    return RowFactory.create(values);
  }
}
