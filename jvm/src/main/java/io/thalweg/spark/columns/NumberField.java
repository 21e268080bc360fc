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
   * @param nanAllowed whether NaN is a number like others, and does not make a row a bad one
   */
  record NumberSpec(
      String name,
      String role,
      DType dtype,
      long[] dims,
      ArrayList<ColumnReader> readers,
      ClassNumbers classes,
      boolean nanAllowed)
      implements Spec {
    static NumberSpec ofInput(NumberInput input, long[] dims, boolean nanAllowed) {
      return new NumberSpec(
          input.info().name(), "input", input.dtype(), dims, new ArrayList<>(input.readers()), null, nanAllowed);
    }

    static NumberSpec ofTarget(TrainingColumns.Target target, List<ColumnReader> readers, boolean nanAllowed) {
      ClassNumbers classes = target.isClass() ? target.classes() : null;
      return new NumberSpec(
          "target", "target", target.dtype(), target.dims(), new ArrayList<>(readers), classes, nanAllowed);
    }

    @Override
    public String json() {
      return json(name, role, dtype, dims);
    }

    static String json(String name, String role, DType dtype, long[] dims) {
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
        int first = target.position();
        reader.read(row, writer, target);
        if (!spec.nanAllowed()) {
          requireNoNan(reader.column(), target, first);
        }
      }
      done = true;
    } finally {
      if (!done) {
        target.position(before);
      }
    }
  }

  /** Of what has been written from {@code first} on; the engine would find it too, but knows neither row nor column. */
  private void requireNoNan(String column, ByteBuffer written, int first) {
    DType dtype = spec.dtype();
    if (dtype != DType.F32 && dtype != DType.F64) {
      return;
    }
    for (int at = first; at < written.position(); at += dtype.bytes()) {
      if (Double.isNaN(dtype == DType.F32 ? written.getFloat(at) : written.getDouble(at))) {
        int element = (at - first) / dtype.bytes();
        throw new BadRowException("column '" + column + "' holds NaN, as its number " + (element + 1));
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
