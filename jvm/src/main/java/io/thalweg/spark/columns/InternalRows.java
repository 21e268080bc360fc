// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import java.io.Serializable;
import java.util.Iterator;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructType;
import scala.Function1;

/**
 * Turns rows as Spark has them inside into ones that a ColumnReader takes. Unlike Spark's own way it makes no object for each
 * number of an array, which would take as long as some steps of training.
 */
final class InternalRows implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Makes a Java value of an internal one that is not null. */
  private interface Conversion {
    Object of(Object value);
  }

  private final StructType schema;

  InternalRows(StructType schema) {
    this.schema = schema;
  }

  /** Each row is valid for good, whatever happens to the internal one. */
  Iterator<Row> convert(Iterator<InternalRow> rows) {
    DataType[] types = new DataType[schema.length()];
    Conversion[] conversions = new Conversion[types.length];
    for (int i = 0; i < types.length; ++i) {
      types[i] = schema.apply(i).dataType();
      conversions[i] = conversion(types[i]);
    }
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return rows.hasNext();
      }

      @Override
      public Row next() {
        InternalRow row = rows.next();
        Object[] values = new Object[types.length];
        for (int i = 0; i < values.length; ++i) {
          values[i] = row.isNullAt(i) ? null : conversions[i].of(row.get(i, types[i]));
        }
        return RowFactory.create(values);
      }
    };
  }

  private static Conversion conversion(DataType type) {
    Function1<Object, Object> general = CatalystTypeConverters.createToScalaConverter(type);
    if (!(type instanceof ArrayType array)) {
      return general::apply;
    }
    DataType element = array.elementType();
    Conversion numbers = conversionOfNumbers(element);
    if (numbers == null) {
      return general::apply;
    }
    // An array with a null in it goes the general way, where the reader finds it.
    return array.containsNull() ? value -> (hasNull((ArrayData) value) ? general.apply(value) : numbers.of(value)) : numbers;
  }

  /** Null if there is none for arrays of such elements. */
  private static Conversion conversionOfNumbers(DataType element) {
    if (element instanceof FloatType) {
      return value -> ((ArrayData) value).toFloatArray();
    }
    if (element instanceof DoubleType) {
      return value -> ((ArrayData) value).toDoubleArray();
    }
    if (element instanceof IntegerType) {
      return value -> ((ArrayData) value).toIntArray();
    }
    if (element instanceof LongType) {
      return value -> ((ArrayData) value).toLongArray();
    }
    if (element instanceof ArrayType) {
      Conversion inner = conversion(element);
      return value -> arrays((ArrayData) value, element, inner);
    }
    return null;
  }

  private static Object[] arrays(ArrayData outer, DataType element, Conversion inner) {
    Object[] values = new Object[outer.numElements()];
    for (int i = 0; i < values.length; ++i) {
      values[i] = inner.of(outer.get(i, element));
    }
    return values;
  }

  private static boolean hasNull(ArrayData array) {
    for (int i = 0; i < array.numElements(); ++i) {
      if (array.isNullAt(i)) {
        return true;
      }
    }
    return false;
  }
}
