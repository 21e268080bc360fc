// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.PartitionPruningRDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.util.LongAccumulator;
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
  private final LongAccumulator given;
  private final JavaFutureAction<List<TrainingOutcome>> all;
  private final Map<Integer, JavaFutureAction<List<TrainingOutcome>>> single = new HashMap<>();

  /** {@code rows} have a partition for each worker. */
  TrainingJobs(JavaRDD<InternalRow> rows, TrainingPlan plan) {
    this.rows = rows;
    this.plan = plan;
    this.given = rows.context().longAccumulator();
    this.all = rows.mapPartitionsWithIndex(new TrainingTask(plan, given), false).collectAsync();
  }

  /** Whether the outcome of a worker that has the model is in this process; Spark then still waits for the other workers. */
  boolean hasModel() {
    return given.value() > 0;
  }

  /** When all workers have ended, but for those in jobs of their own. */
  List<TrainingOutcome> outcomes(long timeout, TimeUnit unit)
      throws InterruptedException, ExecutionException, TimeoutException {
    return all.get(timeout, unit);
  }

  /** Of the workers in jobs of their own, which have little left to do when all others have ended. */
  List<TrainingOutcome> outcomesOfRestarted() throws InterruptedException {
    List<TrainingOutcome> outcomes = new ArrayList<>();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(END_SECONDS);
    for (JavaFutureAction<List<TrainingOutcome>> job : single.values()) {
      try {
        outcomes.addAll(job.get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS));
      } catch (ExecutionException | TimeoutException | CancellationException over) {
        LOG.debug("a worker's own job did not end by itself", over);
      }
    }
    return outcomes;
  }

  /** Starts the worker of this seat in a job of its own, unless there is one already. */
  void restart(int seat) {
    JavaFutureAction<List<TrainingOutcome>> before = single.get(seat);
    if (before != null && !before.isDone()) {
      return;
    }
    LOG.warn("Thalweg starts worker {} again in a job of its own: it was lost, and Spark takes its partition for done", seat);
    Function1<Object, Object> chosen = (Function1<Object, Object> & Serializable) partition -> (int) partition == seat;
    JavaRDD<InternalRow> own = PartitionPruningRDD.create(rows.rdd(), chosen).toJavaRDD();
    single.put(seat, own.mapPartitionsWithIndex(new TrainingTask(plan, given, seat), false).collectAsync());
  }

  /** Ends what still runs. */
  @Override
  public void close() {
    all.cancel(true);
    single.values().forEach(job -> job.cancel(true));
  }
}
