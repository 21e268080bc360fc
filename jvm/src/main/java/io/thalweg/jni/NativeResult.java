// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.jni;

import java.nio.ByteBuffer;

/** The functions tw_result_* of the C interface. */
public final class NativeResult {
  static {
    NativeLibrary.load();
  }

  private NativeResult() {}

  public static native int count(long result);

  public static native int dtype(long result, int index);

  public static native long[] dims(long result, int index);

  /** The memory of one tensor, of so many bytes; it is gone when the result is freed. */
  public static native ByteBuffer data(long result, int index, long bytes);

  public static native String text(long result);

  public static native void free(long result);
}
