// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.Training;
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

  /** Who this worker is. */
  private record Self(int seat, String name, int threads) {}

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
    Self self = new Self(seat, name, plan.threads().here(name));
    try (TaskWatch watch = new TaskWatch(context);
        RemoteCheckpoints checkpoints = checkpoints(scratch);
        StartModel.Lease model = plan.model().use();
        Training training = training(self, model, checkpoints, context)) {
      watch.onCancel(training::cancel);
      // Before the rows are read, which may take any time: the others know then that this worker lives. A spare reads none.
      if (!training.join()) {
        return List.of(outcome(self, null, null, 0, 0)).iterator();
      }
      return List.of(work(training, plan.columns().convert(rows), self, scratch, watch)).iterator();
    } finally {
      Utils.deleteRecursively(scratch.toFile());
    }
  }

  /** Null if the engine writes them itself, or none. */
  private RemoteCheckpoints checkpoints(Path scratch) throws IOException {
    return plan.checkpoints() == null ? null : new RemoteCheckpoints(plan.checkpoints(), scratch.resolve("checkpoints"));
  }

  private Training training(Self self, StartModel.Lease model, RemoteCheckpoints checkpoints, TaskContext context) {
    TrainingSettings settings =
        checkpoints == null ? plan.settings() : plan.settings().withCheckpoints(checkpoints.local());
    return new Training(
        model.source(),
        settings.toml(self.threads()),
        plan.rendezvous(),
        plan.secret(),
        self.name(),
        self.seat(),
        context.stageAttemptNumber());
  }

  private TrainingOutcome work(Training training, Iterator<Row> rows, Self self, Path scratch, TaskWatch watch)
      throws IOException {
    long taken;
    long skipped;
    try (WorkerRows own = new WorkerRows(plan, scratch)) {
      own.take(training, rows, watch);
      taken = own.count();
      skipped = own.skipped();
      LOG.info("Thalweg: {} has {} rows in native memory, left out {}", self.name(), taken, skipped);
      if (!own.train(training)) {
        return outcome(self, null, null, taken, skipped);
      }
    }
    // From here on no rows are needed, but the model, until the driver has it: the worker that was asked for it may be lost.
    String report = training.report();
    if (!training.gives()) {
      return outcome(self, report, null, taken, skipped);
    }
    byte[] model = training.export(plan.metadata());
    watch.check();
    training.gave();
    return outcome(self, report, model, taken, skipped);
  }

  private static TrainingOutcome outcome(Self self, String report, byte[] model, long taken, long skipped) {
    return new TrainingOutcome(self.seat(), self.name(), self.threads(), report, model, taken, skipped);
  }
}
