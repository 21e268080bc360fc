// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * A dense row-major array in memory outside of the Java heap, in the machine's byte order.
 *
 * @param data a direct buffer; the elements begin at its first byte, whatever its position
 */
public record Tensor(DType dtype, long[] dims, ByteBuffer data) {
  public Tensor {
    if (!data.isDirect() || data.order() != ByteOrder.nativeOrder()) {
      throw new ThalwegException("a tensor needs a direct buffer in the machine's byte order");
    }
    long bytes = bytes(dtype, dims);
    if (bytes > data.capacity()) {
      throw new ThalwegException(
          "a tensor of " + dtype + Arrays.toString(dims) + " needs " + bytes + " bytes, the buffer has " + data.capacity());
    }
  }

  public static long bytes(DType dtype, long[] dims) {
    long elements = 1;
    for (long dim : dims) {
      if (dim < 0) {
        throw new ThalwegException("a tensor of shape " + Arrays.toString(dims) + " has a negative dimension");
      }
      elements = Math.multiplyExact(elements, dim);
    }
    return Math.multiplyExact(elements, dtype.bytes());
  }

  public static ByteBuffer allocate(long bytes) {
    if (bytes > Integer.MAX_VALUE) {
      throw new ThalwegException("a buffer of " + bytes + " bytes is asked for; at most 2 GB are possible: use smaller batches");
    }
    return ByteBuffer.allocateDirect((int) bytes).order(ByteOrder.nativeOrder());
  }
}
