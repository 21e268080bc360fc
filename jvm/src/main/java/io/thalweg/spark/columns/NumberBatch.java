// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.spark.sql.Row;

/** A batch of the numbers in columns. */
final class NumberBatch extends InputBatch {
  private final NumberInput input;
  private final ElementWriter writer;

  NumberBatch(NumberInput input) {
    super(input.dtype());
    this.input = input;
    this.writer = ElementWriter.of(input.dtype());
  }

  @Override
  public boolean accepts(Row row) {
    long[] dims = input.rowDims(row);
    return rows() == 0 || Arrays.equals(dims, rowDims());
  }

  @Override
  public void add(Row row, int capacity) {
    if (rows() == 0) {
      begin(input.rowDims(row), capacity);
    }
    ByteBuffer memory = nextRow();
    boolean done = false;
    try {
      for (ColumnReader reader : input.readers()) {
        reader.read(row, writer, memory);
      }
      done = true;
    } finally {
      if (!done) {
        removeLast();
      }
    }
  }
}
