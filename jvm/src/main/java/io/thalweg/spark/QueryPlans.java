// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;

/** How Spark computes a DataFrame. */
final class QueryPlans {
  private QueryPlans() {}

  /** By its name as it stands, dots and all. Spark would tell names apart as the session does that is active on this thread. */
  static Column column(Dataset<Row> rows, String name) {
    Option<SparkSession> active = SparkSession.getActiveSession();
    SparkSession.setActiveSession(rows.sparkSession());
    try {
      return rows.col("`" + name.replace("`", "``") + "`");
    } finally {
      if (active.isDefined()) {
        SparkSession.setActiveSession(active.get());
      } else {
        SparkSession.clearActiveSession();
      }
    }
  }

  /** Of the session that the rows belong to, which need not be the one that is active on this thread. */
  static boolean caseSensitive(Dataset<?> rows) {
    return Boolean.parseBoolean(rows.sparkSession().conf().get(SQLConf.CASE_SENSITIVE().key()));
  }

  /** The method is in Dataset itself in Spark 3, in a class derived from it in Spark 4. */
  static QueryExecution executionOf(Dataset<Row> rows) {
    try {
      return (QueryExecution) rows.getClass().getMethod("queryExecution").invoke(rows);
    } catch (ReflectiveOperationException failure) {
      throw new ThalwegException("this DataFrame has no plan: is it one of Spark Connect?", failure);
    }
  }
}
