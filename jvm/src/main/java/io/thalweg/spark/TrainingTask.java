// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.fasterxml.jackson.databind.ObjectMapper;
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
import org.apache.spark.util.Utils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One worker: takes the rows of its partition into native memory, and trains on them with the others. */
final class TrainingTask implements Function2<Integer, Iterator<InternalRow>, Iterator<TrainingOutcome>> {
  private static final long serialVersionUID = 1L;
  private static final Logger LOG = LoggerFactory.getLogger(TrainingTask.class);

  /** The rows of the partitions of this worker, of which others get some before training begins. */
  private record Taken(long rows, long skipped) {}

  private static final int BY_PARTITION = -1;

  private final TrainingPlan plan;
  private final int onlySeat;

  /** For all workers: each partition is a seat. */
  TrainingTask(TrainingPlan plan) {
    this(plan, BY_PARTITION);
  }

  /** For the worker of this seat alone, whatever its partition is called. */
  TrainingTask(TrainingPlan plan, int onlySeat) {
    this.plan = plan;
    this.onlySeat = onlySeat;
  }

  @Override
  public Iterator<TrainingOutcome> call(Integer partition, Iterator<InternalRow> rows) throws IOException {
    int seat = onlySeat == BY_PARTITION ? partition : onlySeat;
    TaskContext context = TaskContext.get();
    SparkEnv env = SparkEnv.get();
    String name = "worker " + seat + " (executor " + env.executorId() + ", " + env.blockManager().blockManagerId().host() + ")";
    Path scratch = Files.createTempDirectory(Path.of(Utils.getLocalDir(env.conf())), "thalweg-");
    try (Rows kept = new Rows(plan.columns().json(), plan.memoryBytes(), scratch)) {
      Taken taken = take(plan.columns().convert(rows), kept, seat);
      LOG.info("Thalweg: {} has {} rows in native memory, left out {}", name, taken.rows(), taken.skipped());
      try (StartModel.Lease model = plan.model().use();
          Training training =
              new Training(
                  model.source(), plan.settings(), plan.rendezvous(), plan.secret(), name, seat, context.stageAttemptNumber())) {
        return List.of(train(training, kept, seat, taken, scratch, context)).iterator();
      }
    } finally {
      Utils.deleteRecursively(scratch.toFile());
    }
  }

  private Taken take(Iterator<Row> rows, Rows kept, int seat) {
    long read = 0;
    long skipped = 0;
    try (RowChunk chunk = plan.columns().newChunk()) {
      for (; rows.hasNext(); ++read) {
        try {
          chunk.add(rows.next());
        } catch (BadRowException problem) {
          String text = "row " + read + " of worker " + seat + ": " + problem.getMessage();
          if (!plan.skipBadRows()) {
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
    return new Taken(kept.count(), skipped);
  }

  private TrainingOutcome train(
      Training training, Rows rows, int seat, Taken taken, Path scratch, TaskContext context) throws IOException {
    boolean trained;
    try (TaskWatch watch = new TaskWatch(context, training::cancel)) {
      trained = training.run(rows);
    }
    if (!trained) {
      return new TrainingOutcome(seat, null, null, taken.rows(), taken.skipped());
    }
    String report = training.report();
    byte[] model = null;
    if (new ObjectMapper().readTree(report).get("speaks").asBoolean()) {
      Path file = scratch.resolve(ModelFile.NAME);
      training.save(file, plan.metadata());
      model = Files.readAllBytes(file);
    }
    return new TrainingOutcome(seat, report, model, taken.rows(), taken.skipped());
  }
}
