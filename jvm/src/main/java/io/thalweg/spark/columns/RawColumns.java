// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.Preparation;
import java.util.List;
import org.apache.spark.sql.Row;

/** Some rows of columns as they are in a DataFrame, in native memory. Used by one thread. */
final class RawColumns implements AutoCloseable {
  private final List<RawColumn> columns;
  private int rows;

  RawColumns(List<RawColumn.Spec> specs) {
    columns = specs.stream().map(RawColumn::new).toList();
  }

  /** To all columns, or, after a BadRowException, to none. */
  void add(Row row) {
    int done = 0;
    try {
      for (; done < columns.size(); ++done) {
        columns.get(done).add(row);
      }
      ++rows;
    } finally {
      if (done < columns.size()) {
        columns.subList(0, done).forEach(RawColumn::removeLast);
      }
    }
  }

  void removeLast() {
    columns.forEach(RawColumn::removeLast);
    --rows;
  }

  int rows() {
    return rows;
  }

  long bytes() {
    return columns.stream().mapToLong(RawColumn::bytes).sum();
  }

  /** Good until a row is added. */
  List<Preparation.Values> values() {
    return columns.stream().map(RawColumn::values).toList();
  }

  void clear() {
    columns.forEach(RawColumn::clear);
    rows = 0;
  }

  @Override
  public void close() {
    columns.forEach(RawColumn::close);
  }
}
