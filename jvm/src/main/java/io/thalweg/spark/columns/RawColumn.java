// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.Preparation;
import io.thalweg.Preparation.Kind;
import io.thalweg.Tensor;
import io.thalweg.ThalwegException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.storage.StorageUtils;

/** A column as it is in a DataFrame, numbers or texts, for some rows at a time, in native memory that is used again. */
final class RawColumn implements AutoCloseable {
  /**
   * Which one; made by the driver.
   *
   * @param name what the model calls it
   * @param column what the schema calls it
   * @param index of it in a row
   * @param imputed whether a row may lack a value, since the model's features put one there
   * @param nanAllowed whether NaN is a number like others, and does not make a row a bad one
   */
  record Spec(String name, String column, int index, Kind kind, boolean imputed, boolean nanAllowed) implements Serializable {
    static Spec of(String name, SourceColumns source, boolean imputed, boolean nanAllowed) {
      String column = source.resolve(name);
      return new Spec(
          name,
          column,
          source.schema().fieldIndex(column),
          kindOf(column, source.type(column)),
          imputed,
          nanAllowed || imputed);
    }

    private static Kind kindOf(String column, DataType type) {
      if (type instanceof StringType) {
        return Kind.TEXTS;
      }
      if (type instanceof DoubleType || type instanceof FloatType || type instanceof DecimalType) {
        return Kind.FRACTIONS;
      }
      if (ColumnReader.isNumber(type) || type instanceof DateType || type instanceof TimestampType || type instanceof TimestampNTZType) {
        return Kind.WHOLE;
      }
      throw new ThalwegException(
          "column '" + column + "' is of type " + type.catalogString() + "; the model's file says how columns of numbers and of"
              + " texts become its inputs");
    }
  }

  private static final int FIRST_BYTES = 1 << 12;
  private static final long SECONDS_OF_DAY = 24 * 60 * 60;

  private final Spec spec;
  private ByteBuffer values = Tensor.allocate(FIRST_BYTES);
  /** Of texts; else null. */
  private ByteBuffer offsets;
  /** A byte for each row, if it may lack a value; else null. */
  private ByteBuffer missing;

  RawColumn(Spec spec) {
    this.spec = spec;
    offsets = spec.kind() == Kind.TEXTS ? Tensor.allocate(FIRST_BYTES) : null;
    missing = spec.imputed() ? Tensor.allocate(FIRST_BYTES) : null;
    clear();
  }

  /** After a BadRowException the column is as it was before. */
  void add(Row row) {
    Object value = row.get(spec.index());
    if (value == null && !spec.imputed()) {
      throw new BadRowException("column '" + spec.column() + "' is null");
    }
    if (value == null) {
      addNothing();
    } else {
      addValue(value);
    }
    if (missing != null) {
      missing = TrainingField.grown(missing, 1);
      missing.put((byte) (value == null ? 1 : 0));
    }
  }

  private void addValue(Object value) {
    switch (spec.kind()) {
      case TEXTS -> addText(((String) value).getBytes(StandardCharsets.UTF_8));
      case FRACTIONS -> addFraction(((Number) value).doubleValue());
      default -> roomFor(Long.BYTES).putLong(whole(value));
    }
  }

  /** Of times: seconds since 1970 in UTC. */
  private static long whole(Object value) {
    if (value instanceof Number number) {
      return number.longValue();
    }
    if (value instanceof Boolean flag) {
      return flag ? 1 : 0;
    }
    if (value instanceof java.sql.Date date) {
      return date.toLocalDate().toEpochDay() * SECONDS_OF_DAY;
    }
    if (value instanceof LocalDate date) {
      return date.toEpochDay() * SECONDS_OF_DAY;
    }
    if (value instanceof LocalDateTime time) {
      return time.toEpochSecond(ZoneOffset.UTC);
    }
    Instant instant = value instanceof java.sql.Timestamp stamp ? stamp.toInstant() : (Instant) value;
    return instant.getEpochSecond();
  }

  /** A row of zero, or of an empty text. */
  private void addNothing() {
    if (offsets != null) {
      addText(new byte[0]);
    } else {
      roomFor(Long.BYTES).putLong(0);
    }
  }

  private void addFraction(double number) {
    if (Double.isNaN(number) && !spec.nanAllowed()) {
      throw new BadRowException("column '" + spec.column() + "' holds NaN");
    }
    roomFor(Double.BYTES).putDouble(number);
  }

  private void addText(byte[] text) {
    offsets = TrainingField.grown(offsets, Long.BYTES);
    roomFor(text.length).put(text);
    offsets.putLong(values.position());
  }

  private ByteBuffer roomFor(int bytes) {
    values = TrainingField.grown(values, bytes);
    return values;
  }

  void removeLast() {
    if (missing != null) {
      missing.position(missing.position() - 1);
    }
    if (offsets == null) {
      values.position(values.position() - Long.BYTES);
    } else {
      offsets.position(offsets.position() - Long.BYTES);
      values.position((int) offsets.getLong(offsets.position() - Long.BYTES));
    }
  }

  void clear() {
    values.clear();
    if (offsets != null) {
      offsets.clear();
      offsets.putLong(0);
    }
    if (missing != null) {
      missing.clear();
    }
  }

  /** Of all rows. */
  long bytes() {
    return values.position() + (offsets == null ? 0 : offsets.position());
  }

  Preparation.Values values() {
    return new Preparation.Values(spec.name(), spec.kind(), values, offsets, missing);
  }

  @Override
  public void close() {
    StorageUtils.dispose(values);
    values = null;
    if (offsets != null) {
      StorageUtils.dispose(offsets);
      offsets = null;
    }
    if (missing != null) {
      StorageUtils.dispose(missing);
      missing = null;
    }
  }
}
