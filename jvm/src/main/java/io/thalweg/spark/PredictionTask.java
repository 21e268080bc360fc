// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.spark.columns.RowBatch;
import java.util.Iterator;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Applies a model to the rows of a partition. */
final class PredictionTask implements MapPartitionsFunction<Row, Row> {
  private static final long serialVersionUID = 1L;
  private static final Logger LOG = LoggerFactory.getLogger(PredictionTask.class);
  private static boolean threadsLogged;

  private final BroadcastFile model;
  private final PredictionPlan plan;

  PredictionTask(BroadcastFile model, PredictionPlan plan) {
    this.model = model;
    this.plan = plan;
  }

  @Override
  public Iterator<Row> call(Iterator<Row> rows) {
    if (!rows.hasNext()) {
      return rows;
    }
    TaskContext context = TaskContext.get();
    int threads = threads(context);
    SharedModels.Lease lease =
        SharedModels.use(new SharedModels.Key(model.hash(), threads, plan.precision()), model::use);
    context.addTaskCompletionListener((TaskCompletionListener) ended -> lease.close());
    RowBatch batch = new RowBatch(rows, context.partitionId(), plan.inputs(), plan.mostRows(), plan.skipBadRows());
    context.addTaskCompletionListener((TaskCompletionListener) ended -> batch.close());
    return new PredictionIterator(lease.model(), plan, batch, threads);
  }

  /** Those that Spark counts on for a task, unless the machine or its control group has fewer. */
  private int threads(TaskContext context) {
    int processors = Runtime.getRuntime().availableProcessors();
    int threads = plan.threads() > 0 ? plan.threads() : Math.min(context.cpus(), processors);
    logThreads(threads, context.cpus(), processors);
    return threads;
  }

  private static synchronized void logThreads(int threads, int cpus, int processors) {
    if (!threadsLogged) {
      threadsLogged = true;
      LOG.info("Thalweg predicts with {} thread(s) in each task: spark.task.cpus is {}, this process has {} processor(s)",
          threads, cpus, processors);
    }
  }
}
