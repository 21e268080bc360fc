// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.PartitionPruningRDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Function1;

/**
 * The jobs of Spark that one training consists of: one with all workers, and one for each worker that Spark would not start
 * again. That happens to inputs that were shuffled. When their files are lost with an executor, Spark begins another attempt
 * at the stage, with tasks for all workers, while those of the attempt before go on. The later ones find the seats taken and
 * end, which to Spark means that the partition is done.
 */
final class TrainingJobs implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TrainingJobs.class);
  /** When the training is over, a worker has little left to do. */
  private static final long END_SECONDS = 10;

  private final JavaRDD<InternalRow> rows;
  private final TrainingPlan plan;
  private final CompletableFuture<TrainingOutcome> giver = new CompletableFuture<>();
  /** Written while the other workers end. */
  private final CompletableFuture<ModelFile> model = giver.thenApplyAsync(TrainingJobs::keep);
  private final TrainingJob all;
  private final Map<Integer, TrainingJob> single = new HashMap<>();

  /** {@code rows} have a partition for each worker. */
  TrainingJobs(JavaRDD<InternalRow> rows, TrainingPlan plan) {
    this.rows = rows;
    this.plan = plan;
    this.all = new TrainingJob(rows, new TrainingTask(plan), this::arrived);
  }

  private void arrived(TrainingOutcome outcome) {
    if (outcome.model() != null) {
      giver.complete(outcome);
    }
  }

  private static ModelFile keep(TrainingOutcome outcome) {
    try {
      return ModelFile.keep(outcome.model());
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  /** Whether the outcome of a worker that has the model is in this process; Spark then still waits for the other workers. */
  boolean hasModel() {
    return giver.isDone();
  }

  /** The model that has come first, and with it what its worker says of the training. */
  TrainedModel trained(List<TrainingOutcome> outcomes, String loss) throws IOException {
    if (!hasModel()) {
      throw new ThalwegException("no worker has given the trained model back");
    }
    try {
      return TrainedModel.of(model.join(), giver.join(), outcomes, loss);
    } catch (CompletionException failure) {
      throw new IOException("the trained model cannot be kept: " + failure.getCause().getMessage(), failure.getCause());
    }
  }

  /** Waits until the model has come, all workers have ended or the time is over. */
  void await(long timeout, TimeUnit unit) throws InterruptedException, ExecutionException {
    try {
      (hasModel() ? all.outcomes() : CompletableFuture.anyOf(giver, all.outcomes())).get(timeout, unit);
    } catch (TimeoutException stillRunning) {
      LOG.trace("the workers train");
    }
  }

  /** Of all workers when they have ended, but for those in jobs of their own; empty before. */
  Optional<List<TrainingOutcome>> outcomes() throws InterruptedException, ExecutionException {
    return all.outcomes().isDone() ? Optional.of(all.outcomes().get()) : Optional.empty();
  }

  /** Of the workers in jobs of their own, which have little left to do when all others have ended. */
  List<TrainingOutcome> outcomesOfRestarted() throws InterruptedException {
    List<TrainingOutcome> outcomes = new ArrayList<>();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(END_SECONDS);
    for (TrainingJob job : single.values()) {
      try {
        outcomes.addAll(job.outcomes().get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS));
      } catch (ExecutionException | TimeoutException over) {
        LOG.debug("a worker's own job did not end by itself", over);
      }
    }
    return outcomes;
  }

  /** Starts the worker of this seat in a job of its own, unless there is one already. */
  void restart(int seat) {
    TrainingJob before = single.get(seat);
    if (before != null && !before.outcomes().isDone()) {
      return;
    }
    LOG.warn("Thalweg starts worker {} again in a job of its own: it was lost, and Spark takes its partition for done", seat);
    Function1<Object, Object> chosen = (Function1<Object, Object> & Serializable) partition -> (int) partition == seat;
    JavaRDD<InternalRow> own = PartitionPruningRDD.create(rows.rdd(), chosen).toJavaRDD();
    single.put(seat, new TrainingJob(own, new TrainingTask(plan, seat), this::arrived));
  }

  /** Ends what still runs. */
  @Override
  public void close() {
    all.cancel();
    single.values().forEach(TrainingJob::cancel);
  }
}
