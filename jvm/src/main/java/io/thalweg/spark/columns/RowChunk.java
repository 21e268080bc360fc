// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.Rows;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.spark.sql.Row;

/** Rows on their way from Spark into native memory, some at a time. */
public final class RowChunk implements AutoCloseable {
  /** Enough for a call to cost nothing beside the copying. */
  private static final long CHUNK_BYTES = 4 << 20;

  private final List<TrainingField> fields;
  private long rows;

  RowChunk(List<TrainingField> fields) {
    this.fields = fields;
  }

  /** Throws BadRowException if the row does not fit; it is left out then. */
  public void add(Row row) {
    int done = 0;
    try {
      for (; done < fields.size(); ++done) {
        fields.get(done).add(row);
      }
      ++rows;
    } finally {
      if (done < fields.size()) {
        fields.subList(0, done).forEach(TrainingField::removeLast);
      }
    }
  }

  public boolean isFull() {
    return fields.stream().mapToLong(field -> field.bytes().position()).sum() >= CHUNK_BYTES;
  }

  public void moveTo(Rows target) {
    ByteBuffer[] buffers = new ByteBuffer[fields.size()];
    long[] sizes = new long[buffers.length];
    ByteBuffer[] offsets = new ByteBuffer[buffers.length];
    for (int i = 0; i < buffers.length; ++i) {
      buffers[i] = fields.get(i).bytes();
      sizes[i] = buffers[i].position();
      offsets[i] = fields.get(i).offsets();
    }
    target.append(rows, buffers, sizes, offsets);
    fields.forEach(TrainingField::clear);
    rows = 0;
  }

  @Override
  public void close() {
    fields.forEach(TrainingField::close);
  }
}
