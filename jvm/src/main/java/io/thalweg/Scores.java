// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import io.thalweg.jni.NativeScores;
import java.nio.ByteBuffer;

/** Figures about a model's answers, in pieces that several tasks compute and one puts together. Used by one thread. */
public final class Scores implements AutoCloseable {
  private long handle;

  /**
   * @param metrics names separated by commas
   * @param loss the name of one; null for none
   * @param outputDims of one row of the model's output
   */
  public Scores(String metrics, String loss, long[] outputDims) {
    handle = NativeScores.create(metrics, loss, outputDims);
  }

  /** What a loss takes for the target of a row, as tw_scores_targets describes it; {@code outputDims} are of one row. */
  public static String targets(String loss, long[] outputDims) {
    return NativeScores.targets(loss, outputDims);
  }

  /** A batch, in direct buffers: outputs as f32, targets as f64, row by row; the dimensions are those of one row. */
  public void add(long rows, ByteBuffer outputs, long[] outputDims, ByteBuffer targets, long[] targetDims) {
    NativeScores.add(handle, rows, outputs, outputDims, targets, targetDims);
  }

  /** All that was added, for {@link #merge} elsewhere. */
  public double[] state() {
    return NativeScores.state(handle);
  }

  public void merge(double[] state) {
    NativeScores.merge(handle, state);
  }

  /** A JSON object of names and values. */
  public String values() {
    return NativeScores.values(handle);
  }

  @Override
  public void close() {
    long old = handle;
    handle = 0;
    NativeScores.free(old);
  }
}
