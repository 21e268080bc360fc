// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.io.Serializable;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;

/**
 * Rows that are not trained on but measured after every epoch. Each worker has all of them, so that all come to the same
 * scores, and with these to the same decisions, without having to ask each other.
 *
 * @param column which marks them
 * @param fields as tw_rows_create takes them: those of training, but without what augments images there
 */
record Validation(int column, String fields) implements Serializable {
  /** Of the memory for rows, one part in so many is for these. */
  private static final int MEMORY_PARTS = 4;

  /** 0 stays 0. */
  static long memoryBytes(long all) {
    return all / MEMORY_PARTS;
  }

  boolean has(Row row) {
    return row.getBoolean(column);
  }

  /** The column as one of true and false, of which null is the latter. */
  static Column mark(Dataset<Row> rows, String column) {
    Column given = QueryPlans.column(rows, column).cast("boolean");
    return functions.coalesce(given, functions.lit(false)).as(column);
  }
}
