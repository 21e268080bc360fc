// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.DType;
import io.thalweg.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.apache.spark.sql.Row;

/** Numbers of one or several columns, as many in every row. */
final class NumberField extends TrainingField {
  /**
   * @param role "input" or "target"
   * @param dims of one row
   * @param classes that the numbers must be; null: any number will do
   */
  record NumberSpec(
      String name, String role, DType dtype, long[] dims, ArrayList<ColumnReader> readers, ClassNumbers classes)
      implements Spec {
    NumberSpec(String name, String role, DType dtype, long[] dims, List<ColumnReader> readers) {
      this(name, role, dtype, dims, new ArrayList<>(readers), null);
    }

    static NumberSpec ofTarget(TrainingColumns.Target target, List<ColumnReader> readers) {
      ClassNumbers classes = target.isClass() ? target.classes() : null;
      return new NumberSpec("target", "target", target.dtype(), target.dims(), new ArrayList<>(readers), classes);
    }

    @Override
    public String json() {
      return "{\"name\": " + Json.quoted(name) + ", \"role\": \"" + role + "\", \"kind\": \"tensor\", \"dtype\": \""
          + dtype.name().toLowerCase(Locale.ROOT) + "\", \"shape\": " + Arrays.toString(dims) + "}";
    }

    @Override
    public TrainingField newField() {
      return new NumberField(this);
    }

    String where() {
      return readers.stream().map(reader -> "'" + reader.column() + "'").collect(Collectors.joining(", "));
    }
  }

  private final NumberSpec spec;
  private final ElementWriter writer;
  private final long rowElements;
  private final int rowBytes;

  private NumberField(NumberSpec spec) {
    this.spec = spec;
    writer =
        spec.classes() != null
            ? ElementWriter.ofClasses(spec.classes(), spec.dtype())
            : ElementWriter.of(spec.dtype());
    rowBytes = Math.toIntExact(Tensor.bytes(spec.dtype(), spec.dims()));
    rowElements = rowBytes / spec.dtype().bytes();
  }

  @Override
  void add(Row row) {
    long elements = 0;
    for (ColumnReader reader : spec.readers()) {
      elements += reader.count(row);
    }
    if (elements != rowElements) {
      throw new BadRowException(
          "column " + spec.where() + " holds " + elements + " numbers, where the model takes " + rowElements);
    }
    ByteBuffer target = bytesWithRoomFor(rowBytes);
    int before = target.position();
    boolean done = false;
    try {
      for (ColumnReader reader : spec.readers()) {
        reader.read(row, writer, target);
      }
      done = true;
    } finally {
      if (!done) {
        target.position(before);
      }
    }
  }

  @Override
  void removeLast() {
    bytes().position(bytes().position() - rowBytes);
  }

  @Override
  void clear() {
    bytes().clear();
  }

  @Override
  ByteBuffer offsets() {
    return null;
  }
}
