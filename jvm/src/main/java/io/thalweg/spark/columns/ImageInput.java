// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.ImagePipeline;
import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import java.util.Arrays;
import org.apache.spark.ml.image.ImageSchema;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;

/** An input that is made of images: the bytes of files, as the source binaryFile gives them, or Spark's image schema. */
public final class ImageInput extends ModelInput {
  private static final long serialVersionUID = 1L;

  /** One image: its bytes are a file if there are no extents. */
  record Image(String name, byte[] bytes, int height, int width, int channels) {
    /** The bytes of a file of the image. */
    byte[] file() {
      return height == 0 ? bytes : Bitmap.encode(bytes, height, width, channels);
    }
  }

  private final String column;
  private final int index;
  private final int pathIndex;
  private final boolean decoded;
  private final String preprocessing;
  private final int channels;

  ImageInput(ValueInfo info, SourceColumns source, String column, String preprocessing) {
    super(info);
    this.column = column;
    this.index = source.schema().fieldIndex(column);
    this.decoded = !(source.type(column) instanceof BinaryType);
    this.pathIndex = source.imageNames().map(source.schema()::fieldIndex).orElse(-1);
    if (preprocessing == null) {
      throw new ThalwegException(
          "column '" + column + "' holds images, but the model does not say how they become its input: set the parameter"
              + " preprocessing");
    }
    this.preprocessing = preprocessing;
    this.channels = fittingChannels();
  }

  static boolean isImage(DataType type) {
    return type instanceof BinaryType || type.catalogString().equals(ImageSchema.columnSchema().catalogString());
  }

  @Override
  public InputBatch newBatch() {
    return new ImageBatch(this, newPipeline());
  }

  String preprocessing() {
    return preprocessing;
  }

  int channels() {
    return channels;
  }

  ImagePipeline newPipeline() {
    return new ImagePipeline(preprocessing, channels);
  }

  /** The image of a row; BadRowException if there is none. */
  Image image(Row row) {
    Object value = row.get(index);
    if (value == null) {
      throw new BadRowException("column '" + column + "' is null");
    }
    if (decoded) {
      Row image = (Row) value;
      return new Image(
          "column '" + column + "' (" + ImageSchema.getOrigin(image) + ")",
          ImageSchema.getData(image),
          ImageSchema.getHeight(image),
          ImageSchema.getWidth(image),
          ImageSchema.getNChannels(image));
    }
    String path = pathIndex >= 0 && !row.isNullAt(pathIndex) ? " (" + row.getString(pathIndex) + ")" : "";
    return new Image("column '" + column + "'" + path, (byte[]) value, 0, 0, 0);
  }

  /** Those that the model takes; throws if the pipeline makes something else of an image than the model's input. */
  private int fittingChannels() {
    long[] dims = info().dims();
    int wanted = dims.length == 4 && (dims[1] == 1 || dims[3] == 1) ? 1 : 3;
    try (ImagePipeline pipeline = new ImagePipeline(preprocessing, wanted)) {
      if (pipeline.dtype() != dtype() || !fits(pipeline.rowDims())) {
        throw new ThalwegException(
            "the preprocessing makes " + pipeline.dtype() + Arrays.toString(pipeline.rowDims())
                + " of an image, which is not what the model's input " + info() + " takes");
      }
    }
    return wanted;
  }

  private boolean fits(long[] rowDims) {
    long[] dims = info().dims();
    if (dims.length != rowDims.length + 1) {
      return false;
    }
    for (int i = 0; i < rowDims.length; ++i) {
      if (dims[i + 1] >= 0 && dims[i + 1] != rowDims[i]) {
        return false;
      }
    }
    return true;
  }
}
