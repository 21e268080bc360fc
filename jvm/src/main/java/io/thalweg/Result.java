// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import io.thalweg.jni.NativeResult;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** What a run gave. Used by one thread; its tensors are gone when it is closed. */
public final class Result implements AutoCloseable {
  private long handle;

  Result(long handle) {
    this.handle = handle;
  }

  public int size() {
    return NativeResult.count(open());
  }

  /** A view of one output. */
  public Tensor tensor(int index) {
    DType dtype = DType.of(NativeResult.dtype(open(), index));
    if (dtype == null) {
      throw new ThalwegException(
          "output " + index + " holds texts, a sequence or numbers of less than 8 bits, which tensors of Java do not");
    }
    long[] dims = NativeResult.dims(handle, index);
    long bytes = Tensor.bytes(dtype, dims);
    if (bytes > Integer.MAX_VALUE) {
      throw new ThalwegException(
          "output " + index + " has " + bytes + " bytes; Java can look at 2 GB at most: use smaller batches");
    }
    ByteBuffer data = bytes == 0 ? ByteBuffer.allocateDirect(0) : NativeResult.data(handle, index, bytes);
    return new Tensor(dtype, dims, data.order(ByteOrder.nativeOrder()));
  }

  public String text() {
    return NativeResult.text(open());
  }

  @Override
  public void close() {
    if (handle != 0) {
      NativeResult.free(handle);
      handle = 0;
    }
  }

  long open() {
    if (handle == 0) {
      throw new ThalwegException("the result is closed");
    }
    return handle;
  }
}
