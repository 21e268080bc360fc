// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.jni;

import java.nio.ByteBuffer;

/**
 * The functions tw_training_*, tw_rows_* and tw_rendezvous_* of the C interface. Handles are addresses: whoever calls
 * these keeps track of what is still there, as {@link io.thalweg.Training} and its like do.
 */
public final class NativeTraining {
  static {
    NativeLibrary.load();
  }

  private NativeTraining() {}

  public static native String settings(String[] assignments);

  public static native String model(String source, String settings, String path);

  public static native String makeSecret();

  public static native long startRendezvous(
      String address, String secret, int workers, double formSeconds, boolean tls);

  public static native String rendezvousAddress(long rendezvous);

  public static native String rendezvousState(long rendezvous);

  public static native void acceptModel(long rendezvous);

  public static native void freeRendezvous(long rendezvous);

  public static native long createRows(String fields, long memoryBytes, String directory);

  /** Of each buffer {@code sizes} bytes count; {@code offsets} has null for columns whose rows are of one size. */
  public static native void appendRows(long rows, long count, ByteBuffer[] buffers, long[] sizes, ByteBuffer[] offsets);

  public static native long countRows(long rows);

  public static native void freeRows(long rows);

  public static native long create(
      String model, String settings, String rendezvous, String secret, String name, int seat, int attempt);

  /** False if there is nothing to do: a worker of an earlier attempt has the seat, or the job is done. */
  public static native boolean join(long training);

  public static native void reading(long training, long rows);

  public static native void fail(long training, String why);

  public static native void validateOn(long training, long rows);

  /** False as for {@link #join}. */
  public static native boolean run(long training, long rows);

  public static native boolean gives(long training);

  public static native void gave(long training);

  public static native void cancel(long training);

  public static native String report(long training);

  public static native byte[] export(long training, String metadata);

  public static native void free(long training);
}
