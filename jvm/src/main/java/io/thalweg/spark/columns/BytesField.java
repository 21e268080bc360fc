// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.Tensor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.Row;
import org.apache.spark.storage.StorageUtils;

/** Bytes, as many as a row happens to have: files of images, or the names that messages give to rows. */
final class BytesField extends TrainingField {
  /** Images, decoded and transformed when they are trained on. */
  record ImageSpec(ImageInput input, String pipeline) implements Spec {
    @Override
    public String json() {
      return "{\"name\": " + Json.quoted(input.info().name()) + ", \"role\": \"input\", \"kind\": \"image\", \"pipeline\": "
          + pipeline + ", \"color\": \"" + (input.channels() == 1 ? "gray" : "rgb") + "\"}";
    }

    @Override
    public TrainingField newField() {
      return new BytesField(row -> input.image(row).file());
    }
  }

  /** What messages call the image of a row. */
  record NameSpec(ImageInput input) implements Spec {
    @Override
    public String json() {
      return "{\"name\": \"name\", \"role\": \"name\", \"kind\": \"text\"}";
    }

    @Override
    public TrainingField newField() {
      return new BytesField(row -> input.image(row).name().getBytes(StandardCharsets.UTF_8));
    }
  }

  private interface Source {
    byte[] of(Row row);
  }

  private final Source source;
  private ByteBuffer offsets = Tensor.allocate(1024);

  private BytesField(Source source) {
    this.source = source;
    clear();
  }

  @Override
  void add(Row row) {
    byte[] value = source.of(row);
    ByteBuffer target = bytesWithRoomFor(value.length);
    offsets = grown(offsets, Long.BYTES);
    target.put(value);
    offsets.putLong(target.position());
  }

  @Override
  void removeLast() {
    offsets.position(offsets.position() - Long.BYTES);
    bytes().position((int) offsets.getLong(offsets.position() - Long.BYTES));
  }

  @Override
  void clear() {
    bytes().clear();
    offsets.clear();
    offsets.putLong(0);
  }

  @Override
  ByteBuffer offsets() {
    return offsets;
  }

  @Override
  public void close() {
    super.close();
    StorageUtils.dispose(offsets);
    offsets = null;
  }
}
