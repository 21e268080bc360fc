// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import io.thalweg.jni.NativeTraining;
import java.nio.file.Path;

/** One worker's part in training a model. Used by one thread, but for {@link #cancel}. */
public final class Training implements AutoCloseable {
  private long handle;

  /**
   * @param model a file that {@link #describeModel} wrote, or what it takes as source
   * @param settings TOML, as tw_training_options describes it
   * @param seat which of the workers this is
   * @param attempt of several at the same work
   */
  public Training(
      String model, String settings, String rendezvous, String secret, String name, int seat, int attempt) {
    handle = NativeTraining.create(model, settings, rendezvous, secret, name, seat, attempt);
  }

  /** The settings of a job of assignments section.key=value, in which text needs no quotes. */
  public static String settings(String[] assignments) {
    return NativeTraining.settings(assignments);
  }

  /** Describes the model that {@code source} names as JSON. */
  public static String describeModel(String source, String settings) {
    return NativeTraining.model(source, settings, null);
  }

  /** The same, and writes it to {@code file}, for workers. */
  public static String describeModel(String source, String settings, Path file) {
    return NativeTraining.model(source, settings, file.toString());
  }

  /**
   * Takes this worker's seat in the group, from when on the others wait for it; the time to read its rows. Waits while
   * another worker of the same attempt has the seat. False if there is nothing to do: a worker of an earlier attempt does
   * it, or the job is done.
   */
  public boolean join() {
    return NativeTraining.join(handle);
  }

  /** Tells those who watch the group how many rows this worker has read. */
  public void reading(long rows) {
    NativeTraining.reading(handle, rows);
  }

  /** Ends the job for all workers, for a reason that another try would not change. */
  public void fail(String why) {
    NativeTraining.fail(handle, why);
  }

  /** Before the run: rows to measure the model on after every epoch, the same at every worker. */
  public void validateOn(Rows rows) {
    NativeTraining.validateOn(handle, rows.open());
  }

  /** Trains to the end; false as for {@link #join}. */
  public boolean run(Rows rows) {
    return NativeTraining.run(handle, rows.open());
  }

  /** After a run: waits until the model of this worker is wanted, true, or until the driver has one. */
  public boolean gives() {
    return NativeTraining.gives(handle);
  }

  /** The model that was wanted is on its way; otherwise another worker is asked for it once this one is closed. */
  public void gave() {
    NativeTraining.gave(handle);
  }

  /** Makes {@link #join}, {@link #run} and {@link #gives} fail soon. From any thread. */
  public synchronized void cancel() {
    if (handle != 0) {
      NativeTraining.cancel(handle);
    }
  }

  /** After a run: JSON, as tw_training_report describes it. */
  public String report() {
    return NativeTraining.report(handle);
  }

  /** The bytes of the trained model's ONNX file; {@code metadata} is a JSON object of texts. */
  public byte[] export(String metadata) {
    return NativeTraining.export(handle, metadata);
  }

  @Override
  public synchronized void close() {
    long old = handle;
    handle = 0;
    NativeTraining.free(old);
  }
}
