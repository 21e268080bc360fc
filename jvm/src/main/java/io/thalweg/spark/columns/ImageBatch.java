// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.ImagePipeline;
import io.thalweg.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.storage.StorageUtils;

/** A batch of images: their bytes are collected as they come, and decoded and transformed together. */
final class ImageBatch extends InputBatch {
  /** Of the images of a batch before they are decoded: a batch of large ones is cut short. */
  private static final long MOST_BYTES = 256 << 20;

  private final ImageInput input;
  private final ImagePipeline pipeline;
  private final List<ImageInput.Image> images = new ArrayList<>();
  private ByteBuffer bytes = Tensor.allocate(0);
  private long used;

  ImageBatch(ImageInput input, ImagePipeline pipeline) {
    super(input.dtype());
    this.input = input;
    this.pipeline = pipeline;
  }

  @Override
  public boolean accepts(Row row) {
    return rows() == 0 || used + input.image(row).bytes().length <= MOST_BYTES;
  }

  @Override
  public void add(Row row, int capacity) {
    ImageInput.Image image = input.image(row);
    if (rows() == 0) {
      begin(pipeline.rowDims(), capacity);
    }
    nextRow();
    images.add(image);
    used += image.bytes().length;
  }

  @Override
  public void removeLast() {
    super.removeLast();
    used -= images.remove(images.size() - 1).bytes().length;
  }

  @Override
  public void clear() {
    super.clear();
    images.clear();
    used = 0;
  }

  @Override
  public String finish(int threads, BitSet bad) {
    if (bytes.capacity() < used) {
      StorageUtils.dispose(bytes);
      bytes = Tensor.allocate(Math.min(Integer.MAX_VALUE, used + used / 2));
    }
    bytes.clear();
    long[] offsets = new long[images.size() + 1];
    String[] names = new String[images.size()];
    int[] extents = new int[3 * images.size()];
    for (int i = 0; i < names.length; ++i) {
      ImageInput.Image image = images.get(i);
      bytes.put(image.bytes());
      offsets[i + 1] = bytes.position();
      names[i] = image.name();
      extents[3 * i] = image.height();
      extents[3 * i + 1] = image.width();
      extents[3 * i + 2] = image.channels();
    }
    byte[] failed = new byte[names.length];
    String problem = pipeline.run(bytes, offsets, names, extents, threads, memory(), failed);
    for (int i = 0; i < failed.length; ++i) {
      if (failed[i] != 0) {
        bad.set(i);
      }
    }
    return problem;
  }

  @Override
  public void close() {
    super.close();
    StorageUtils.dispose(bytes);
    bytes = null;
    pipeline.close();
  }
}
