// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.jni;

import java.nio.ByteBuffer;

/**
 * The functions tw_model_* of the C interface. Handles are addresses: whoever calls these keeps track of what is still
 * there, as {@link io.thalweg.Model} does.
 */
public final class NativeModel {
  static {
    NativeLibrary.load();
  }

  private NativeModel() {}

  public static native String version();

  /** What tw_system says, as JSON. */
  public static native String system();

  public static native long load(String path, int threads, int precision);

  /** A JSON list. */
  public static native String externalFiles(String path);

  public static native void free(long model);

  public static native int count(long model, boolean ofInputs);

  public static native String name(long model, boolean ofInputs, int index);

  public static native int dtype(long model, boolean ofInputs, int index);

  /** Null if not even the number of dimensions is known. */
  public static native long[] dims(long model, boolean ofInputs, int index);

  public static native String metadata(long model, String key);

  /** Gives the handle of a result, for {@link NativeResult}. */
  public static native long run(long model, ByteBuffer[] buffers, int[] dtypes, long[][] shapes);

  /** The same. */
  public static native long classify(long model, long result, int output);
}
