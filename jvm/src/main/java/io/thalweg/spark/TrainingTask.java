// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.Rows;
import io.thalweg.ThalwegException;
import io.thalweg.Training;
import io.thalweg.spark.columns.BadRowException;
import io.thalweg.spark.columns.RowChunk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.Function2;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.util.LongAccumulator;
import org.apache.spark.util.Utils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One worker: takes the rows of its partition into native memory, and trains on them with the others. */
final class TrainingTask implements Function2<Integer, Iterator<InternalRow>, Iterator<TrainingOutcome>> {
  private static final long serialVersionUID = 1L;
  private static final Logger LOG = LoggerFactory.getLogger(TrainingTask.class);

  /** The rows of the partitions of this worker, of which others get some before training begins. */
  private record Taken(long rows, long skipped) {
    static final Taken NOTHING = new Taken(0, 0);
  }

  private static final long STATUS_NANOSECONDS = 500_000_000L;

  private static final int BY_PARTITION = -1;

  private final TrainingPlan plan;
  private final LongAccumulator given;
  private final int onlySeat;

  /** For all workers: each partition is a seat. {@code given} counts models that have reached the driver. */
  TrainingTask(TrainingPlan plan, LongAccumulator given) {
    this(plan, given, BY_PARTITION);
  }

  /** For the worker of this seat alone, whatever its partition is called. */
  TrainingTask(TrainingPlan plan, LongAccumulator given, int onlySeat) {
    this.plan = plan;
    this.given = given;
    this.onlySeat = onlySeat;
  }

  @Override
  public Iterator<TrainingOutcome> call(Integer partition, Iterator<InternalRow> rows) throws IOException {
    int seat = onlySeat == BY_PARTITION ? partition : onlySeat;
    TaskContext context = TaskContext.get();
    SparkEnv env = SparkEnv.get();
    String name = "worker " + seat + " (executor " + env.executorId() + ", " + env.blockManager().blockManagerId().host() + ")";
    Path scratch = Files.createTempDirectory(Path.of(Utils.getLocalDir(env.conf())), "thalweg-");
    try (TaskWatch watch = new TaskWatch(context);
        StartModel.Lease model = plan.model().use();
        Training training =
            new Training(
                model.source(), plan.settings(), plan.rendezvous(), plan.secret(), name, seat, context.stageAttemptNumber())) {
      watch.onCancel(training::cancel);
      // Before the rows are read, which may take any time: the others know then that this worker lives. A spare reads none.
      if (!training.join()) {
        return List.of(outcome(seat, null, null, Taken.NOTHING)).iterator();
      }
      return List.of(work(training, plan.columns().convert(rows), seat, name, scratch, watch)).iterator();
    } finally {
      Utils.deleteRecursively(scratch.toFile());
    }
  }

  private TrainingOutcome work(
      Training training, Iterator<Row> rows, int seat, String name, Path scratch, TaskWatch watch) throws IOException {
    Taken taken;
    try (Rows kept = new Rows(plan.columns().json(), plan.memoryBytes(), scratch)) {
      taken = take(training, rows, kept, watch);
      LOG.info("Thalweg: {} has {} rows in native memory, left out {}", name, taken.rows(), taken.skipped());
      if (!training.run(kept)) {
        return outcome(seat, null, null, taken);
      }
    }
    // From here on no rows are needed, but the model, until the driver has it: the worker that was asked for it may be lost.
    String report = training.report();
    if (!training.gives()) {
      return outcome(seat, report, null, taken);
    }
    Path file = scratch.resolve(ModelFile.NAME);
    training.save(file, plan.metadata());
    byte[] model = Files.readAllBytes(file);
    watch.check();
    given.add(1);
    training.gave();
    return outcome(seat, report, model, taken);
  }

  private Taken take(Training training, Iterator<Row> rows, Rows kept, TaskWatch watch) {
    long read = 0;
    long skipped = 0;
    long nextStatus = System.nanoTime();
    try (RowChunk chunk = plan.columns().newChunk()) {
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
        try {
          chunk.add(row);
        } catch (BadRowException problem) {
          String text = RowPosition.text() + plan.columns().nameOf(row) + ": " + problem.getMessage();
          if (!plan.skipBadRows()) {
            training.fail(text);
            throw new ThalwegException(text);
          }
          if (skipped++ == 0) {
            LOG.warn("Thalweg leaves out {} (further ones of this worker are not reported)", text);
          }
        }
        if (chunk.isFull()) {
          chunk.moveTo(kept);
        }
      }
      chunk.moveTo(kept);
    }
    training.reading(read);
    return new Taken(kept.count(), skipped);
  }

  private static TrainingOutcome outcome(int seat, String report, byte[] model, Taken taken) {
    return new TrainingOutcome(seat, report, model, taken.rows(), taken.skipped());
  }
}
