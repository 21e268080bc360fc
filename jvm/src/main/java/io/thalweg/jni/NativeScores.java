// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.jni;

import java.nio.ByteBuffer;

/** The functions tw_scores_* of the C interface; {@link io.thalweg.Scores} keeps track of the handles. */
public final class NativeScores {
  static {
    NativeLibrary.load();
  }

  private NativeScores() {}

  public static native long create(String metrics, String loss, long[] outputDims);

  public static native void add(
      long scores, long rows, ByteBuffer outputs, long[] outputDims, ByteBuffer targets, long[] targetDims);

  /** The result is JSON. */
  public static native String targets(String loss, long[] outputDims);

  public static native double[] state(long scores);

  public static native void merge(long scores, double[] state);

  public static native String values(long scores);

  public static native void free(long scores);
}
