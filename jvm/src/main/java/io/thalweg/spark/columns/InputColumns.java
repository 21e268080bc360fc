// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.DType;
import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.StructType;

/** The columns that one input of a model is made of: their numbers, one after another, are a row of it. */
public final class InputColumns implements Serializable {
  private static final long serialVersionUID = 1L;

  private final ValueInfo input;
  private final List<ColumnReader> readers;

  public InputColumns(ValueInfo input, List<ColumnReader> readers) {
    if (input.dtype() == null || input.dims() == null || input.dims().length == 0) {
      throw new ThalwegException("the model does not say of which type and shape its input '" + input.name() + "' is");
    }
    this.input = input;
    this.readers = List.copyOf(readers);
  }

  /**
   * Deals columns out to the inputs of a model, in order. A single input gets all of them. Of several, each gets one
   * column of arrays or vectors, or as many columns of single numbers as a row of it has elements.
   */
  public static List<InputColumns> assign(List<ValueInfo> inputs, StructType schema, String[] columns) {
    List<ColumnReader> readers = new ArrayList<>();
    for (String column : columns) {
      readers.add(new ColumnReader(schema, column));
    }
    if (inputs.size() == 1 && !readers.isEmpty()) {
      return List.of(new InputColumns(inputs.get(0), readers));
    }
    List<InputColumns> assigned = new ArrayList<>();
    int next = 0;
    for (ValueInfo input : inputs) {
      boolean single = next < readers.size() && !readers.get(next).isScalar();
      long wanted = single ? 1 : Math.max(1, input.rowElements());
      if (next + wanted > readers.size()) {
        throw new ThalwegException(
            "the model's inputs (" + names(inputs) + ") need more than the " + columns.length + " input columns given");
      }
      assigned.add(new InputColumns(input, readers.subList(next, next + (int) wanted)));
      next += (int) wanted;
    }
    if (next < readers.size()) {
      throw new ThalwegException(
          "the model's inputs (" + names(inputs) + ") need only " + next + " of the " + columns.length + " input columns");
    }
    return assigned;
  }

  private static String names(List<ValueInfo> inputs) {
    return inputs.stream().map(ValueInfo::toString).collect(Collectors.joining(", "));
  }

  public ValueInfo input() {
    return input;
  }

  public DType dtype() {
    return input.dtype();
  }

  List<ColumnReader> readers() {
    return readers;
  }

  /** The shape of this row: the input's, without the rows, its free dimension filled in from the number of elements. */
  public long[] rowDims(Row row) {
    long elements = 0;
    for (ColumnReader reader : readers) {
      elements += reader.count(row);
    }
    long[] dims = new long[input.dims().length - 1];
    long known = 1;
    int free = -1;
    for (int i = 0; i < dims.length; ++i) {
      dims[i] = input.dims()[i + 1];
      if (dims[i] >= 0) {
        known *= dims[i];
      } else if (free >= 0) {
        throw new ThalwegException(input + " has several sizes that differ from row to row; numbers alone do not say them");
      } else {
        free = i;
      }
    }
    if (free >= 0 && known > 0 && elements % known == 0) {
      dims[free] = elements / known;
    } else if (elements != known) {
      throw new BadRowException(
          where() + (readers.size() == 1 ? " holds " : " hold ") + elements + " numbers, but a row of the model's input "
              + input + " takes " + (free < 0 ? "" : "a multiple of ") + known);
    }
    return dims;
  }

  private String where() {
    String names = readers.stream().map(reader -> "'" + reader.column() + "'").collect(Collectors.joining(", "));
    return (readers.size() == 1 ? "column " : "columns ") + names;
  }
}
