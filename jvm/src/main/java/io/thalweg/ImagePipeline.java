// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import io.thalweg.jni.NativePipeline;
import java.nio.ByteBuffer;

/** What is done to images between the file and a row of a batch. Used by one thread. */
public final class ImagePipeline implements AutoCloseable {
  private final DType dtype;
  private final long[] rowDims;
  private long handle;

  /**
   * @param json as the metadata property "thalweg.preprocessing" of a model holds it
   * @param channels that the images get: 1 or 3
   */
  public ImagePipeline(String json, int channels) {
    handle = NativePipeline.create(json, channels);
    dtype = DType.of(NativePipeline.dtype(handle));
    rowDims = NativePipeline.dims(handle);
  }

  public DType dtype() {
    return dtype;
  }

  /** The shape of one image, without the batch. */
  public long[] rowDims() {
    return rowDims.clone();
  }

  /** See {@link NativePipeline#run}. */
  public String run(
      ByteBuffer bytes, long[] offsets, String[] names, int[] extents, int threads, ByteBuffer rows, byte[] failed) {
    if (handle == 0) {
      throw new ThalwegException("the pipeline is closed");
    }
    return NativePipeline.run(handle, bytes, offsets, names, extents, threads, rows, failed);
  }

  @Override
  public void close() {
    long old = handle;
    handle = 0;
    NativePipeline.free(old);
  }
}
