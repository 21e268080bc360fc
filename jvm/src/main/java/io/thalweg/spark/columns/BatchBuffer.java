// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.Tensor;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.spark.sql.Row;

/** One input of a model for a batch of rows, in native memory that is used again for the next batch. */
public final class BatchBuffer {
  private final InputColumns columns;
  private final ElementWriter writer;
  private ByteBuffer buffer = Tensor.allocate(0);
  private long[] rowDims;
  private long rowBytes;
  private int rows;

  public BatchBuffer(InputColumns columns) {
    this.columns = columns;
    this.writer = ElementWriter.of(columns.dtype());
  }

  /** Whether the row has the shape of those that are in the batch. Throws if it fits the model not at all. */
  public boolean accepts(Row row) {
    return rows == 0 || Arrays.equals(columns.rowDims(row), rowDims);
  }

  /** After a BadRowException the batch is as it was before. */
  public void add(Row row, int capacity) {
    if (rows == 0) {
      begin(columns.rowDims(row), capacity);
    }
    long start = rows * rowBytes;
    buffer.position((int) start);
    for (ColumnReader reader : columns.readers()) {
      reader.read(row, writer, buffer);
    }
    ++rows;
  }

  private void begin(long[] dims, int capacity) {
    rowDims = dims;
    rowBytes = Tensor.bytes(columns.dtype(), dims);
    long needed = Math.multiplyExact(rowBytes, (long) capacity);
    if (buffer.capacity() < needed) {
      buffer = Tensor.allocate(needed);
    }
  }

  /** Takes the last row back. */
  public void removeLast() {
    --rows;
  }

  public void clear() {
    rows = 0;
  }

  /** The batch with {@code total} rows: those that are missing are copies of the last, whose answers nobody reads. */
  public Tensor tensor(int total) {
    ByteBuffer last = buffer.duplicate().order(buffer.order());
    for (int row = rows; row < total; ++row) {
      last.limit((int) (rows * rowBytes)).position((int) ((rows - 1) * rowBytes));
      buffer.position((int) (row * rowBytes));
      buffer.put(last);
    }
    long[] dims = new long[rowDims.length + 1];
    dims[0] = total;
    System.arraycopy(rowDims, 0, dims, 1, rowDims.length);
    return new Tensor(columns.dtype(), dims, buffer);
  }
}
