// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.FeaturesFit;
import io.thalweg.spark.columns.FeatureRows;
import io.thalweg.spark.columns.SourceColumns;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;

/** Features of tables that learn of the rows of a DataFrame, where these are. */
public final class FittedFeatures {
  private FittedFeatures() {}

  /**
   * The features, as JSON, with what they have learned: in one pass over the rows, and a further one for each feature that learns
   * of what another one has had to learn first.
   *
   * @param features as JSON
   * @param skipBadRows whether rows with a null or NaN that no feature fills are left out
   */
  public static String fit(Dataset<?> rows, String features, boolean skipBadRows) {
    try (FeaturesFit fit = new FeaturesFit(features)) {
      for (FeaturesFit.Plan plan = fit.plan(); ; plan = fit.plan()) {
        if (plan.done()) {
          return plan.features();
        }
        SourceColumns all = new SourceColumns(rows.schema(), QueryPlans.caseSensitive(rows), column -> null);
        Dataset<Row> needed = rows.toDF().select(columns(rows.toDF(), all, plan.columns()));
        fit.merge(pass(needed, plan, skipBadRows));
        fit.endPass();
      }
    }
  }

  private static Column[] columns(Dataset<Row> rows, SourceColumns source, List<String> names) {
    return names.stream().map(name -> QueryPlans.column(rows, source.resolve(name))).toArray(Column[]::new);
  }

  private static String pass(Dataset<Row> rows, FeaturesFit.Plan plan, boolean skipBadRows) {
    SourceColumns source = new SourceColumns(rows.schema(), QueryPlans.caseSensitive(rows), column -> null);
    FeatureRows task = new FeatureRows(plan, source, skipBadRows);
    JavaRDD<InternalRow> internal = QueryPlans.executionOf(rows).toRdd().toJavaRDD();
    JavaRDD<String> states =
        internal.mapPartitionsWithIndex((partition, some) -> List.of(task.learn(partition, some)).iterator(), true);
    // An RDD without partitions has nothing to reduce.
    return states.getNumPartitions() == 0 ? task.learn(0, List.<InternalRow>of().iterator()) : states.treeReduce(task::merged);
  }
}
