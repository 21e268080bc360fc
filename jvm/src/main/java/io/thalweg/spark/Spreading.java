// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import scala.math.BigInt;

/** Gives every core something to do: rows in fewer partitions than there are cores are spread over all. */
final class Spreading {
  /** Fewer are not worth the way to another executor. */
  private static final BigInt LEAST_BYTES = BigInt.apply(1 << 20);

  private Spreading() {}

  static Dataset<Row> spread(Dataset<Row> rows) {
    int cores = rows.sparkSession().sparkContext().defaultParallelism();
    if (rows.isStreaming() || cores == 1) {
      return rows;
    }
    QueryExecution execution = QueryPlans.executionOf(rows);
    SparkPlan plan = execution.executedPlan();
    // Such a plan settles its partitions while it runs, by what it has seen; asking it would run it.
    if (plan instanceof AdaptiveSparkPlanExec || plan.execute().getNumPartitions() >= cores) {
      return rows;
    }
    boolean worthwhile = execution.optimizedPlan().stats().sizeInBytes().$greater$eq(LEAST_BYTES);
    return worthwhile ? rows.repartition(cores) : rows;
  }
}
