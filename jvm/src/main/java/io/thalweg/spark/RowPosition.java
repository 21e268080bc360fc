// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.util.Iterator;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Where in a DataFrame the row comes from that this thread has read last. A worker reads several partitions as one, but
 * messages should name rows as their owner knows them.
 */
final class RowPosition {
  private static final ThreadLocal<RowPosition> LAST = ThreadLocal.withInitial(() -> new RowPosition(-1));

  private final int partition;
  private long row = -1;

  private RowPosition(int partition) {
    this.partition = partition;
  }

  /** The same rows; while a task reads them, {@link #text} says which one it has got. */
  static JavaRDD<InternalRow> follow(JavaRDD<InternalRow> rows) {
    return rows.mapPartitionsWithIndex(RowPosition::following, true);
  }

  /** "row 3 of partition 1". */
  static String text() {
    RowPosition last = LAST.get();
    return "row " + last.row + " of partition " + last.partition;
  }

  private static Iterator<InternalRow> following(int partition, Iterator<InternalRow> rows) {
    RowPosition position = new RowPosition(partition);
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return rows.hasNext();
      }

      @Override
      public InternalRow next() {
        InternalRow row = rows.next();
        if (position.row++ < 0) {
          LAST.set(position);
        }
        return row;
      }
    };
  }
}
