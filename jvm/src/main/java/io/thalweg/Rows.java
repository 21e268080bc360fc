// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import io.thalweg.jni.NativeTraining;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/** Rows to train on, outside of the Java heap. Used by one thread. */
public final class Rows implements AutoCloseable {
  private long handle;

  /**
   * @param fields JSON, as tw_rows_create describes it
   * @param memoryBytes what goes beyond lies in a file; 0: the engine's default
   * @param directory of that file; null: rows beyond {@code memoryBytes} are an error
   */
  public Rows(String fields, long memoryBytes, Path directory) {
    handle = NativeTraining.createRows(fields, memoryBytes, directory == null ? null : directory.toString());
  }

  /** Copies rows out of direct buffers; see NativeTraining.appendRows. */
  public void append(long count, ByteBuffer[] buffers, long[] sizes, ByteBuffer[] offsets) {
    NativeTraining.appendRows(open(), count, buffers, sizes, offsets);
  }

  public long count() {
    return NativeTraining.countRows(open());
  }

  @Override
  public void close() {
    long old = handle;
    handle = 0;
    NativeTraining.freeRows(old);
  }

  long open() {
    if (handle == 0) {
      throw new ThalwegException("the rows are closed");
    }
    return handle;
  }
}
