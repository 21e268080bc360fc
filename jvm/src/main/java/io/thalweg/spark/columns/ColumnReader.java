// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.ThalwegException;
import java.io.Serializable;
import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.spark.ml.linalg.DenseVector;
import org.apache.spark.ml.linalg.SQLDataTypes;
import org.apache.spark.ml.linalg.SparseVector;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;

/**
 * Reads the numbers of one column of a DataFrame: single ones, those that stand for texts, arrays (of arrays) of them, or
 * vectors of Spark ML.
 */
public final class ColumnReader implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String column;
  private final int index;
  private final TextIndex texts;
  private final boolean scalar;

  /** {@code texts} is null unless the column holds such. Throws if it holds neither these nor numbers. */
  ColumnReader(StructType schema, String column, TextIndex texts) {
    this.column = column;
    this.texts = texts;
    DataType type = schema.apply(column).dataType();
    this.index = schema.fieldIndex(column);
    this.scalar = texts != null || isNumber(type);
    if (!scalar && !type.equals(SQLDataTypes.VectorType()) && !isNumber(innermost(type))) {
      throw new ThalwegException(
          "column '" + column + "' is of type " + type.catalogString() + "; numbers, arrays of numbers or vectors are needed");
    }
  }

  public String column() {
    return column;
  }

  /** The numbers in this column of the row; an array's and a vector's length may differ from row to row. */
  public int count(Row row) {
    if (scalar) {
      return 1;
    }
    try {
      return count(value(row));
    } catch (BadRowException problem) {
      throw named(problem);
    }
  }

  /** Appends them to the buffer, which must have room for them. */
  public void read(Row row, ElementWriter writer, ByteBuffer buffer) {
    try {
      write(value(row), writer, buffer);
    } catch (BadRowException problem) {
      throw named(problem);
    }
  }

  private BadRowException named(BadRowException problem) {
    return new BadRowException("column '" + column + "' " + problem.getMessage());
  }

  private Object value(Row row) {
    Object value = row.get(index);
    if (value == null) {
      throw new BadRowException("is null");
    }
    return value;
  }

  static boolean isNumber(DataType type) {
    return type instanceof NumericType || type instanceof BooleanType;
  }

  private static DataType innermost(DataType type) {
    return type instanceof ArrayType ? innermost(((ArrayType) type).elementType()) : type;
  }

  private int count(Object value) {
    if (value instanceof org.apache.spark.ml.linalg.Vector) {
      return ((org.apache.spark.ml.linalg.Vector) value).size();
    }
    if (value instanceof Object[] arrays) {
      return Arrays.stream(arrays).map(ColumnReader::present).mapToInt(this::count).sum();
    }
    if (value.getClass().isArray()) {
      return Array.getLength(value);
    }
    scala.collection.Seq<?> sequence = (scala.collection.Seq<?>) value;
    int length = sequence.length();
    if (length == 0 || !(present(sequence.apply(0)) instanceof scala.collection.Seq)) {
      return length;
    }
    int total = 0;
    for (Iterator<?> inner = sequence.iterator(); inner.hasNext(); ) {
      total += count(present(inner.next()));
    }
    return total;
  }

  private static Object present(Object element) {
    if (element == null) {
      throw new BadRowException("holds an array with a null in it");
    }
    return element;
  }

  private void write(Object value, ElementWriter writer, ByteBuffer buffer) {
    if (value instanceof Double || value instanceof Float) {
      writer.put(buffer, ((Number) value).doubleValue());
    } else if (value instanceof BigDecimal) {
      writer.put(buffer, ((BigDecimal) value).doubleValue());
    } else if (value instanceof Number) {
      writer.put(buffer, ((Number) value).longValue());
    } else if (value instanceof String text) {
      writer.put(buffer, texts.number(text));
    } else if (value instanceof Boolean) {
      writer.put(buffer, (Boolean) value ? 1L : 0L);
    } else if (value instanceof DenseVector) {
      for (double element : ((DenseVector) value).values()) {
        writer.put(buffer, element);
      }
    } else if (value.getClass().isArray()) {
      writeArray(value, writer, buffer);
    } else if (value instanceof SparseVector) {
      write((SparseVector) value, writer, buffer);
    } else {
      for (Iterator<?> elements = ((scala.collection.Seq<?>) value).iterator(); elements.hasNext(); ) {
        write(present(elements.next()), writer, buffer);
      }
    }
  }

  /** Such arrays are in rows that InternalRows or another stage has made. */
  private void writeArray(Object array, ElementWriter writer, ByteBuffer buffer) {
    if (array instanceof float[] floats) {
      writer.put(buffer, floats);
    } else if (array instanceof double[] doubles) {
      for (double element : doubles) {
        writer.put(buffer, element);
      }
    } else if (array instanceof int[] ints) {
      for (int element : ints) {
        writer.put(buffer, (long) element);
      }
    } else if (array instanceof long[] longs) {
      for (long element : longs) {
        writer.put(buffer, element);
      }
    } else {
      for (Object element : (Object[]) array) {
        write(present(element), writer, buffer);
      }
    }
  }

  private static void write(SparseVector vector, ElementWriter writer, ByteBuffer buffer) {
    int next = 0;
    for (int i = 0; i < vector.size(); ++i) {
      boolean here = next < vector.indices().length && vector.indices()[next] == i;
      writer.put(buffer, here ? vector.values()[next++] : 0.0);
    }
  }
}
