// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

/** The types of a tensor's elements; the numbers are those of tw_dtype. */
public enum DType {
  F32(0, 4),
  F64(1, 8),
  BF16(2, 2),
  F16(3, 2),
  I8(4, 1),
  U8(5, 1),
  I32(6, 4),
  I64(7, 8),
  BOOL(8, 1),
  I16(9, 2),
  U16(10, 2),
  U32(11, 4),
  U64(12, 8);

  private final int number;
  private final int bytes;

  DType(int number, int bytes) {
    this.number = number;
    this.bytes = bytes;
  }

  public int number() {
    return number;
  }

  /** Of one element. */
  public int bytes() {
    return bytes;
  }

  public boolean isWhole() {
    return this != F32 && this != F64 && this != BF16 && this != F16 && this != BOOL;
  }

  /** Null if the number is that of no type: the model does not say. */
  public static DType of(int number) {
    return number >= 0 && number < values().length ? values()[number] : null;
  }
}
