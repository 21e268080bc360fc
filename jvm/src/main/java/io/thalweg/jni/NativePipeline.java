// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.jni;

import java.nio.ByteBuffer;

/** The functions tw_pipeline_* of the C interface. */
public final class NativePipeline {
  static {
    NativeLibrary.load();
  }

  private NativePipeline() {}

  public static native long create(String json, int channels);

  public static native void free(long pipeline);

  public static native int dtype(long pipeline);

  public static native long[] dims(long pipeline);

  /**
   * Image i is bytes[offsets[i], offsets[i + 1]), a file, or pixels if its height, width and channels, at 3 i in {@code
   * extents}, are not zeros. Sets {@code failed} to 1 for bad ones, and says what is wrong with the first of them.
   */
  public static native String run(
      long pipeline,
      ByteBuffer bytes,
      long[] offsets,
      String[] names,
      int[] extents,
      int threads,
      ByteBuffer rows,
      byte[] failed);
}
