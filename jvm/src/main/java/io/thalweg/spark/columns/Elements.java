// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.DType;
import io.thalweg.ThalwegException;
import java.nio.ByteBuffer;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Reads elements of tensors as values of Spark's types. */
final class Elements {
  private Elements() {}

  /** The smallest type of Spark's that holds every element of this type. */
  static DataType sparkType(DType dtype) {
    switch (dtype) {
      case F32:
      case BF16:
        return DataTypes.FloatType;
      case F64:
        return DataTypes.DoubleType;
      case I8:
        return DataTypes.ByteType;
      case U8:
      case I16:
        return DataTypes.ShortType;
      case U16:
      case I32:
        return DataTypes.IntegerType;
      case U32:
      case I64:
      case U64:
        return DataTypes.LongType;
      case BOOL:
        return DataTypes.BooleanType;
      default:
        throw new ThalwegException("outputs of type " + dtype + " have no counterpart in Spark");
    }
  }

  /** {@code count} elements from number {@code first} on, as an array of the Java type that sparkType stands for. */
  static Object array(DType dtype, ByteBuffer data, int first, int count) {
    switch (dtype) {
      case F32:
        float[] floats = new float[count];
        data.asFloatBuffer().position(first).get(floats);
        return floats;
      case F64:
        double[] doubles = new double[count];
        data.asDoubleBuffer().position(first).get(doubles);
        return doubles;
      case I64:
      case U64:
        long[] longs = new long[count];
        data.asLongBuffer().position(first).get(longs);
        return longs;
      case I32:
        int[] ints = new int[count];
        data.asIntBuffer().position(first).get(ints);
        return ints;
      default:
        Object[] boxed = new Object[count];
        for (int i = 0; i < count; ++i) {
          boxed[i] = element(dtype, data, first + i);
        }
        return boxed;
    }
  }

  static double[] doubles(DType dtype, ByteBuffer data, int first, int count) {
    double[] doubles = new double[count];
    for (int i = 0; i < count; ++i) {
      Object element = element(dtype, data, first + i);
      doubles[i] = element instanceof Boolean ? ((Boolean) element ? 1.0 : 0.0) : ((Number) element).doubleValue();
    }
    return doubles;
  }

  static Object element(DType dtype, ByteBuffer data, int index) {
    int at = index * dtype.bytes();
    switch (dtype) {
      case F32:
        return data.getFloat(at);
      case BF16:
        return Float.intBitsToFloat(data.getShort(at) << 16);
      case F64:
        return data.getDouble(at);
      case I8:
        return data.get(at);
      case U8:
        return (short) (data.get(at) & 0xFF);
      case I16:
        return data.getShort(at);
      case U16:
        return data.getShort(at) & 0xFFFF;
      case I32:
        return data.getInt(at);
      case U32:
        return data.getInt(at) & 0xFFFFFFFFL;
      case I64:
      case U64:
        return data.getLong(at);
      case BOOL:
        return data.get(at) != 0;
      default:
        throw new ThalwegException("outputs of type " + dtype + " have no counterpart in Spark");
    }
  }
}
