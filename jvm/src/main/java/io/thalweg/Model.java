// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import io.thalweg.jni.NativeModel;
import io.thalweg.jni.NativePreparation;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** An ONNX model, loaded into the engine. Several threads may run it at once; closing waits for them. */
public final class Model implements AutoCloseable {
  /** What a model computes in; the numbers are those of tw_precision. */
  public enum Precision {
    DECLARED,
    F32,
    BF16
  }

  private final ReentrantReadWriteLock lifetime = new ReentrantReadWriteLock();
  private final List<ValueInfo> inputs;
  private final List<ValueInfo> outputs;
  private long handle;

  /** {@code threads} of each run; 0: what the machine and its control group allow. */
  public Model(Path file, int threads, Precision precision) {
    handle = NativeModel.load(file.toString(), threads, precision.ordinal());
    inputs = describe(true);
    outputs = describe(false);
  }

  public List<ValueInfo> inputs() {
    return inputs;
  }

  public List<ValueInfo> outputs() {
    return outputs;
  }

  /** The metadata property of this name; null if there is none. */
  public String metadata(String key) {
    lifetime.readLock().lock();
    try {
      return NativeModel.metadata(open(), key);
    } finally {
      lifetime.readLock().unlock();
    }
  }

  /** What it takes and gives and what its file says, as JSON, for {@link Preparation}. */
  public String description() {
    lifetime.readLock().lock();
    try {
      return NativePreparation.describe(open());
    } finally {
      lifetime.readLock().unlock();
    }
  }

  /** Inputs in the order of {@link #inputs}. The result has to be closed. */
  public Result run(List<Tensor> tensors) {
    ByteBuffer[] buffers = new ByteBuffer[tensors.size()];
    int[] dtypes = new int[tensors.size()];
    long[][] shapes = new long[tensors.size()][];
    for (int i = 0; i < buffers.length; ++i) {
      buffers[i] = tensors.get(i).data();
      dtypes[i] = tensors.get(i).dtype().number();
      shapes[i] = tensors.get(i).dims();
    }
    lifetime.readLock().lock();
    try {
      return new Result(NativeModel.run(open(), buffers, dtypes, shapes));
    } finally {
      lifetime.readLock().unlock();
    }
  }

  /**
   * Reads an output [rows, classes] as classes: tensor 0 of the result holds the probabilities, f32 [rows, classes], and
   * tensor 1 the number of the most probable class of each row, i64 [rows].
   */
  public Result classify(Result result, int output) {
    lifetime.readLock().lock();
    try {
      return new Result(NativeModel.classify(open(), result.open(), output));
    } finally {
      lifetime.readLock().unlock();
    }
  }

  @Override
  public void close() {
    lifetime.writeLock().lock();
    try {
      long old = handle;
      handle = 0;
      NativeModel.free(old);
    } finally {
      lifetime.writeLock().unlock();
    }
  }

  private long open() {
    if (handle == 0) {
      throw new ThalwegException("the model is closed");
    }
    return handle;
  }

  private List<ValueInfo> describe(boolean ofInputs) {
    List<ValueInfo> values = new ArrayList<>();
    for (int i = 0; i < NativeModel.count(handle, ofInputs); ++i) {
      values.add(
          new ValueInfo(
              NativeModel.name(handle, ofInputs, i),
              DType.of(NativeModel.dtype(handle, ofInputs, i)),
              NativeModel.dims(handle, ofInputs, i)));
    }
    return List.copyOf(values);
  }
}
