// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.DType;
import io.thalweg.ThalwegException;
import java.nio.ByteBuffer;

/**
 * Puts numbers of any Java type into a buffer as elements of one type, at the buffer's position. A number that the type
 * cannot hold (a fraction or too large a number for a whole one) is an error; loss of digits is none.
 */
public abstract class ElementWriter {
  public abstract void put(ByteBuffer buffer, double value);

  public abstract void put(ByteBuffer buffer, long value);

  public void put(ByteBuffer buffer, float[] values) {
    for (float value : values) {
      put(buffer, (double) value);
    }
  }

  public static ElementWriter of(DType dtype) {
    switch (dtype) {
      case F32:
        return new F32();
      case F64:
        return new F64();
      case I64:
        return new Whole(Long.MIN_VALUE, Long.MAX_VALUE, ByteBuffer::putLong);
      case U64:
        return new Whole(0, Long.MAX_VALUE, ByteBuffer::putLong);
      case I32:
        return new Whole(Integer.MIN_VALUE, Integer.MAX_VALUE, (buffer, value) -> buffer.putInt((int) value));
      case U32:
        return new Whole(0, 0xFFFFFFFFL, (buffer, value) -> buffer.putInt((int) value));
      case I16:
        return new Whole(Short.MIN_VALUE, Short.MAX_VALUE, (buffer, value) -> buffer.putShort((short) value));
      case U16:
        return new Whole(0, 0xFFFF, (buffer, value) -> buffer.putShort((short) value));
      case I8:
        return new Whole(Byte.MIN_VALUE, Byte.MAX_VALUE, (buffer, value) -> buffer.put((byte) value));
      case U8:
        return new Whole(0, 0xFF, (buffer, value) -> buffer.put((byte) value));
      case BOOL:
        return new Whole(0, 1, (buffer, value) -> buffer.put((byte) value));
      default:
        throw new ThalwegException("columns cannot be turned into elements of type " + dtype);
    }
  }

  /** Whole numbers. What is no class of the model is an error here, where the row is known, and not while training. */
  static ElementWriter ofClasses(ClassNumbers classes, DType dtype) {
    ElementWriter elements = of(dtype);
    return new ElementWriter() {
      @Override
      public void put(ByteBuffer buffer, double value) {
        put(buffer, whole(value));
      }

      @Override
      public void put(ByteBuffer buffer, long value) {
        if (!classes.contain(value)) {
          throw new BadRowException("holds class " + value + "; the model has the classes 0 to " + (classes.count() - 1));
        }
        elements.put(buffer, value);
      }
    };
  }

  private static long whole(double value) {
    long whole = (long) value;
    if (whole != value) {
      throw new BadRowException("holds " + value + ", where the model takes whole numbers");
    }
    return whole;
  }

  private static final class F32 extends ElementWriter {
    @Override
    public void put(ByteBuffer buffer, double value) {
      buffer.putFloat((float) value);
    }

    @Override
    public void put(ByteBuffer buffer, long value) {
      buffer.putFloat(value);
    }

    @Override
    public void put(ByteBuffer buffer, float[] values) {
      buffer.asFloatBuffer().put(values);
      buffer.position(buffer.position() + values.length * Float.BYTES);
    }
  }

  private static final class F64 extends ElementWriter {
    @Override
    public void put(ByteBuffer buffer, double value) {
      buffer.putDouble(value);
    }

    @Override
    public void put(ByteBuffer buffer, long value) {
      buffer.putDouble(value);
    }
  }

  private static final class Whole extends ElementWriter {
    private interface Put {
      void put(ByteBuffer buffer, long value);
    }

    private final long least;
    private final long most;
    private final Put put;

    Whole(long least, long most, Put put) {
      this.least = least;
      this.most = most;
      this.put = put;
    }

    @Override
    public void put(ByteBuffer buffer, double value) {
      put(buffer, whole(value));
    }

    @Override
    public void put(ByteBuffer buffer, long value) {
      if (value < least || value > most) {
        throw new BadRowException("holds " + value + ", which is not in [" + least + ", " + most + "]");
      }
      put.put(buffer, value);
    }
  }
}
