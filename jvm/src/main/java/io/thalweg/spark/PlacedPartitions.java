// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.spark.RegisteredExecutors.Executor;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.Partition;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.CoalescedRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.Option;
import scala.collection.immutable.List;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag$;

/**
 * The rows of each worker. Where they are dealt to is where a worker starts, but one that is started again may go anywhere:
 * the others train and wait for it, in the very executors that Spark would hold it back for (spark.locality.wait).
 */
final class PlacedPartitions extends CoalescedRDD<InternalRow> {
  private static final long serialVersionUID = 1L;

  /** Of use to the driver alone: the workers that have started once. */
  private final transient Set<Integer> started = new HashSet<>();

  PlacedPartitions(RDD<InternalRow> rows, int workers, AdjacentPartitions dealer) {
    super(rows, workers, Option.apply(dealer), ClassTag$.MODULE$.apply(InternalRow.class));
  }

  /** Spark asks once for each attempt at a stage. */
  @Override
  public Seq<String> getPreferredLocations(Partition partition) {
    if (started.add(partition.index())) {
      return super.getPreferredLocations(partition).toList();
    }
    List<String> anywhere = List$.MODULE$.empty();
    for (Executor executor : RegisteredExecutors.now(JavaSparkContext.fromSparkContext(sparkContext()))) {
      anywhere = anywhere.$colon$colon(executor.place());
    }
    return anywhere;
  }
}
