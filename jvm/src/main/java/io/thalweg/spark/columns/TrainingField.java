// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.Tensor;
import java.io.Serializable;
import java.nio.ByteBuffer;
import org.apache.spark.sql.Row;
import org.apache.spark.storage.StorageUtils;

/** One field of the rows that a worker trains on, for some rows at a time, in memory that is used again. */
abstract class TrainingField implements AutoCloseable {
  /** Makes fields; sent to the tasks. */
  interface Spec extends Serializable {
    /** As tw_rows_create takes it. */
    String json();

    TrainingField newField();
  }

  private static final int FIRST_BYTES = 1 << 16;

  private ByteBuffer bytes = Tensor.allocate(FIRST_BYTES);

  /** Appends the row's value. After a BadRowException the field is as it was before. */
  abstract void add(Row row);

  abstract void removeLast();

  abstract void clear();

  /** Where each row begins and the last ends, as 8-byte numbers; null if rows are of one size. */
  abstract ByteBuffer offsets();

  /** Those that count are before its position. */
  final ByteBuffer bytes() {
    return bytes;
  }

  final ByteBuffer bytesWithRoomFor(long more) {
    bytes = grown(bytes, more);
    return bytes;
  }

  /** Gives the memory back: the collector of garbage, which else would, sees only how small a buffer's object is. */
  @Override
  public void close() {
    StorageUtils.dispose(bytes);
    bytes = null;
  }

  static ByteBuffer grown(ByteBuffer buffer, long more) {
    long needed = buffer.position() + more;
    if (needed <= buffer.capacity()) {
      return buffer;
    }
    ByteBuffer larger = Tensor.allocate(Math.max(needed, Math.min(2L * buffer.capacity(), Integer.MAX_VALUE)));
    larger.put(buffer.flip());
    StorageUtils.dispose(buffer);
    return larger;
  }
}
