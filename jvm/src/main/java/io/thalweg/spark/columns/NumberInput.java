// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.sql.Row;

/** An input that is made of columns of numbers: those of a row, one after another, are a row of it. */
public final class NumberInput extends ModelInput {
  private static final long serialVersionUID = 1L;

  private final ArrayList<ColumnReader> readers;

  public NumberInput(ValueInfo info, List<ColumnReader> readers) {
    super(info);
    this.readers = new ArrayList<>(readers);
  }

  @Override
  public InputBatch newBatch() {
    return new NumberBatch(this);
  }

  List<ColumnReader> readers() {
    return readers;
  }

  /** The shape of this row: the input's, without the rows, its free dimension filled in from the number of elements. */
  long[] rowDims(Row row) {
    long elements = 0;
    for (ColumnReader reader : readers) {
      elements += reader.count(row);
    }
    long[] dims = new long[info().dims().length - 1];
    long known = 1;
    int free = -1;
    for (int i = 0; i < dims.length; ++i) {
      dims[i] = info().dims()[i + 1];
      if (dims[i] >= 0) {
        known *= dims[i];
      } else if (free >= 0) {
        throw new ThalwegException(info() + " has several sizes that differ from row to row; numbers alone do not say them");
      } else {
        free = i;
      }
    }
    if (free >= 0 && known > 0 && elements % known == 0) {
      dims[free] = elements / known;
    } else if (elements != known) {
      throw new BadRowException(
          where() + (readers.size() == 1 ? " holds " : " hold ") + elements + " numbers, but a row of the model's input "
              + info() + " takes " + (free < 0 ? "" : "a multiple of ") + known);
    }
    return dims;
  }

  private String where() {
    String names = readers.stream().map(reader -> "'" + reader.column() + "'").collect(Collectors.joining(", "));
    return (readers.size() == 1 ? "column " : "columns ") + names;
  }
}
