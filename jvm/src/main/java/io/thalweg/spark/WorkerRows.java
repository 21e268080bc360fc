// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.Rows;
import io.thalweg.ThalwegException;
import io.thalweg.Training;
import io.thalweg.spark.columns.BadRowException;
import io.thalweg.spark.columns.RowChunk;
import java.nio.file.Path;
import java.util.Iterator;
import org.apache.spark.sql.Row;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The rows of one worker in native memory: those to train on, of which others get some before, and those to validate on. */
final class WorkerRows implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(WorkerRows.class);
  private static final long STATUS_NANOSECONDS = 500_000_000L;

  private final TrainingPlan plan;
  private final Rows kept;
  /** Null if there are none to validate on. */
  private final Rows held;
  private long skipped;

  WorkerRows(TrainingPlan plan, Path scratch) {
    this.plan = plan;
    Validation validation = plan.validation();
    long heldBytes = validation == null ? 0 : Validation.memoryBytes(plan.memoryBytes());
    kept = new Rows(plan.columns().json(), plan.memoryBytes() - heldBytes, scratch);
    held = validation == null ? null : new Rows(validation.fields(), heldBytes, scratch);
  }

  /** Those to train on. */
  long count() {
    return kept.count();
  }

  long skipped() {
    return skipped;
  }

  void take(Training training, Iterator<Row> rows, TaskWatch watch) {
    long read = 0;
    long nextStatus = System.nanoTime();
    try (RowChunk chunk = plan.columns().newChunk();
        RowChunk heldChunk = plan.columns().newChunk()) {
      for (; ; ++read) {
        watch.check();
        if (System.nanoTime() >= nextStatus) {
          nextStatus += STATUS_NANOSECONDS;
          training.reading(read);
        }
        if (!rows.hasNext()) {
          break;
        }
        Row row = rows.next();
        boolean toHold = held != null && plan.validation().has(row);
        add(training, row, toHold ? heldChunk : chunk, toHold ? held : kept);
      }
      chunk.moveTo(kept);
      if (held != null) {
        heldChunk.moveTo(held);
      }
    }
    training.reading(read);
    if (held != null && held.count() == 0) {
      throw failed(training, "no row is marked for validation: validationIndicatorCol is true in none that can be used");
    }
  }

  private void add(Training training, Row row, RowChunk chunk, Rows target) {
    try {
      chunk.add(row);
    } catch (BadRowException problem) {
      String text = RowPosition.text() + plan.columns().nameOf(row) + ": " + problem.getMessage();
      if (!plan.skipBadRows()) {
        throw failed(training, BadRowException.fatal(text));
      }
      if (skipped++ == 0) {
        LOG.warn("Thalweg leaves out {} (further ones of this worker are not reported)", text);
      }
    }
    if (chunk.isFull()) {
      chunk.moveTo(target);
    }
  }

  /** Another try would come to the same. */
  private static ThalwegException failed(Training training, String why) {
    training.fail(why);
    return new ThalwegException(why);
  }

  /** As {@link Training#run}. */
  boolean train(Training training) {
    if (held != null) {
      training.validateOn(held);
    }
    return training.run(kept);
  }

  @Override
  public void close() {
    kept.close();
    if (held != null) {
      held.close();
    }
  }
}
