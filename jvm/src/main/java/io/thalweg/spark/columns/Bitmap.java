// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Pixels as Spark's image schema has them, as a file: BMP, which keeps them as they are. */
final class Bitmap {
  private static final int HEADER_BYTES = 54;
  private static final int INFO_BYTES = 40;
  private static final int FILE_CHANNELS = 3;

  private Bitmap() {}

  /** Rows from the top down; of each pixel blue, green and red (and alpha, which is left out), or grey alone. */
  static byte[] encode(byte[] pixels, int height, int width, int channels) {
    if (pixels.length != (long) height * width * channels) {
      throw new BadRowException(
          "an image of " + height + " x " + width + " pixels with " + channels + " channels has " + pixels.length + " bytes");
    }
    int rowBytes = Math.multiplyExact(width, FILE_CHANNELS) + 3 & ~3;
    int size = Math.addExact(HEADER_BYTES, Math.multiplyExact(rowBytes, height));
    ByteBuffer file = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    file.put((byte) 'B').put((byte) 'M').putInt(size).putInt(0).putInt(HEADER_BYTES);
    // A negative height: from the top down.
    file.putInt(INFO_BYTES).putInt(width).putInt(-height).putShort((short) 1).putShort((short) (8 * FILE_CHANNELS));
    byte[] bytes = file.array();
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        int from = (y * width + x) * channels;
        int to = HEADER_BYTES + y * rowBytes + x * FILE_CHANNELS;
        for (int c = 0; c < FILE_CHANNELS; ++c) {
          bytes[to + c] = pixels[channels == 1 ? from : from + c];
        }
      }
    }
    return bytes;
  }
}
