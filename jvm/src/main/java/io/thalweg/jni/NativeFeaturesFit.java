// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.jni;

import java.nio.ByteBuffer;

/** The functions tw_features_fit_* of the C interface. */
public final class NativeFeaturesFit {
  static {
    NativeLibrary.load();
  }

  private NativeFeaturesFit() {}

  public static native long create(String plan);

  public static native void free(long fit);

  /** JSON. */
  public static native String plan(long fit);

  /** Columns as {@link NativePreparation#run} takes them. */
  public static native void see(
      long fit, String[] names, int[] dtypes, ByteBuffer[] values, ByteBuffer[] offsets, ByteBuffer[] missing, long rows);

  public static native String state(long fit);

  public static native void merge(long fit, String state);

  public static native void endPass(long fit);
}
