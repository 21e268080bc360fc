// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.Rows;
import io.thalweg.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;

/** Rows on their way from Spark into native memory, some at a time. */
public final class RowChunk implements AutoCloseable {
  /** Enough for a call to cost nothing beside the copying. */
  private static final long CHUNK_BYTES = 4 << 20;
  /** A short text may become a long row of numbers. */
  private static final long MOST_ROWS = 4096;

  /** What the engine makes the model's inputs of; null if they are fields. */
  private final PreparedInputs.RawRows raw;
  private final List<TrainingField> fields;
  private long rows;

  RowChunk(PreparedInputs.RawRows raw, List<TrainingField> fields) {
    this.raw = raw;
    this.fields = fields;
  }

  /** Throws BadRowException if the row does not fit; it is left out then. */
  public void add(Row row) {
    if (raw != null) {
      raw.columns().add(row);
    }
    int done = 0;
    try {
      for (; done < fields.size(); ++done) {
        fields.get(done).add(row);
      }
      ++rows;
    } finally {
      if (done < fields.size()) {
        fields.subList(0, done).forEach(TrainingField::removeLast);
        if (raw != null) {
          raw.columns().removeLast();
        }
      }
    }
  }

  public boolean isFull() {
    long bytes = fields.stream().mapToLong(field -> field.bytes().position()).sum();
    return bytes + (raw == null ? 0 : raw.columns().bytes()) >= CHUNK_BYTES || rows >= MOST_ROWS;
  }

  public void moveTo(Rows target) {
    if (rows == 0) {
      return;
    }
    List<ByteBuffer> buffers = new ArrayList<>();
    List<Long> sizes = new ArrayList<>();
    List<ByteBuffer> offsets = new ArrayList<>();
    if (raw != null) {
      for (Tensor tensor : raw.tensors((int) rows)) {
        buffers.add(tensor.data());
        sizes.add(Tensor.bytes(tensor.dtype(), tensor.dims()));
        offsets.add(null);
      }
    }
    for (TrainingField field : fields) {
      buffers.add(field.bytes());
      sizes.add((long) field.bytes().position());
      offsets.add(field.offsets());
    }
    target.append(
        rows,
        buffers.toArray(new ByteBuffer[0]),
        sizes.stream().mapToLong(Long::longValue).toArray(),
        offsets.toArray(new ByteBuffer[0]));
    fields.forEach(TrainingField::clear);
    if (raw != null) {
      raw.clear();
    }
    rows = 0;
  }

  @Override
  public void close() {
    fields.forEach(TrainingField::close);
    if (raw != null) {
      raw.close();
    }
  }
}
