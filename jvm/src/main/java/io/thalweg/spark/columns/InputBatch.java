// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.DType;
import io.thalweg.Tensor;
import java.nio.ByteBuffer;
import java.util.BitSet;
import org.apache.spark.sql.Row;
import org.apache.spark.storage.StorageUtils;

/** One input of a model for a batch of rows, in native memory that is used again for the next batch. */
public abstract class InputBatch implements AutoCloseable {
  private final DType dtype;
  private ByteBuffer memory = Tensor.allocate(0);
  private long[] rowDims;
  private long rowBytes;
  private int rows;

  InputBatch(DType dtype) {
    this.dtype = dtype;
  }

  /** Whether the row can join those that are in the batch. Throws BadRowException if it fits the model not at all. */
  public abstract boolean accepts(Row row);

  /** Appends a row to a batch of at most {@code capacity}. After a BadRowException the batch is as it was before. */
  public abstract void add(Row row, int capacity);

  /** Ends the filling of the batch; marks rows in {@code bad} that turn out to be bad only now, and says why one is. */
  public String finish(int threads, BitSet bad) {
    return null;
  }

  public void clear() {
    rows = 0;
  }

  /** Takes the last row back. */
  public void removeLast() {
    --rows;
  }

  /** Takes rows out of a finished batch. */
  public void remove(BitSet which) {
    int kept = 0;
    for (int row = 0; row < rows; ++row) {
      if (!which.get(row)) {
        copyRow(row, kept++);
      }
    }
    rows = kept;
  }

  /** The batch with {@code total} rows: those that are missing are copies of the last, whose answers nobody reads. */
  public Tensor tensor(int total) {
    for (int row = rows; row < total; ++row) {
      copyRow(rows - 1, row);
    }
    long[] dims = new long[rowDims.length + 1];
    dims[0] = total;
    System.arraycopy(rowDims, 0, dims, 1, rowDims.length);
    return new Tensor(dtype, dims, memory);
  }

  /** Gives the memory back; tensors of this batch must not be used any more. */
  @Override
  public void close() {
    StorageUtils.dispose(memory);
    memory = null;
  }

  final int rows() {
    return rows;
  }

  final long[] rowDims() {
    return rowDims;
  }

  /** The memory of the whole batch, its position at the next row, which counts from here on. */
  final ByteBuffer nextRow() {
    memory.position((int) (rows++ * rowBytes));
    return memory;
  }

  final ByteBuffer memory() {
    return memory;
  }

  /** Makes room for rows of this shape; the batch must be empty. */
  final void begin(long[] dims, int capacity) {
    rowDims = dims;
    rowBytes = Tensor.bytes(dtype, dims);
    long needed = Math.multiplyExact(rowBytes, (long) capacity);
    if (memory.capacity() < needed) {
      StorageUtils.dispose(memory);
      memory = Tensor.allocate(needed);
    }
  }

  private void copyRow(int from, int to) {
    if (from != to) {
      ByteBuffer source = memory.duplicate();
      source.limit((int) ((from + 1) * rowBytes)).position((int) (from * rowBytes));
      memory.position((int) (to * rowBytes));
      memory.put(source);
    }
  }
}
