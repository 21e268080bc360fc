// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.jni;

import java.nio.ByteBuffer;

/** The functions tw_preparation_* of the C interface. */
public final class NativePreparation {
  static {
    NativeLibrary.load();
  }

  private NativePreparation() {}

  /** What tw_model_description says of a model, as JSON. */
  public static native String describe(long model);

  /** {@code columns} is JSON, or null. */
  public static native long create(String description, String columns);

  public static native void free(long preparation);

  /** JSON. */
  public static native String needs(long preparation);

  /**
   * Column i is of element type {@code dtypes[i]}; {@code offsets[i]} is null unless it holds texts, {@code missing[i]}
   * if all rows have a value. Gives the handle of a result, for {@link NativeResult}.
   */
  public static native long run(
      long preparation,
      String[] names,
      int[] dtypes,
      ByteBuffer[] values,
      ByteBuffer[] offsets,
      ByteBuffer[] missing,
      long rows,
      long filled);
}
