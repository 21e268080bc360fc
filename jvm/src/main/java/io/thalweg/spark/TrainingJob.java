// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.apache.spark.FutureAction;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Range$;
import scala.concurrent.ExecutionContext;
import scala.runtime.BoxedUnit;

/** A job of Spark with a worker in each partition. */
final class TrainingJob {
  private final List<TrainingOutcome> outcomes = new ArrayList<>();
  private final CompletableFuture<List<TrainingOutcome>> all = new CompletableFuture<>();
  private final FutureAction<BoxedUnit> action;

  /** {@code arrival} hears each outcome as soon as it is in this process, on a thread of Spark that must not wait. */
  TrainingJob(JavaRDD<InternalRow> rows, TrainingTask task, Consumer<TrainingOutcome> arrival) {
    RDD<TrainingOutcome> workers = rows.mapPartitionsWithIndex(task, false).rdd();
    Function1<Iterator<TrainingOutcome>, TrainingOutcome> only =
        (Function1<Iterator<TrainingOutcome>, TrainingOutcome> & Serializable) Iterator::next;
    action =
        workers.context().submitJob(
            workers,
            only,
            Range$.MODULE$.apply(0, workers.getNumPartitions()),
            (partition, outcome) -> {
              add(outcome);
              arrival.accept(outcome);
              return BoxedUnit.UNIT;
            },
            () -> BoxedUnit.UNIT);
    action.onComplete(
        result -> result.isSuccess() ? all.complete(all()) : all.completeExceptionally(result.failed().get()),
        ExecutionContext.global());
  }

  private synchronized void add(TrainingOutcome outcome) {
    outcomes.add(outcome);
  }

  private synchronized List<TrainingOutcome> all() {
    return List.copyOf(outcomes);
  }

  /** When all workers have ended; fails with what ended the job. */
  CompletableFuture<List<TrainingOutcome>> outcomes() {
    return all;
  }

  void cancel() {
    action.cancel();
  }
}
