// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.Preparation;
import io.thalweg.Result;
import io.thalweg.Tensor;
import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.Row;

/** Columns that the engine makes the inputs of a model of, as the model's file says: texts by its vocabulary, tables by its features. */
public final class PreparedInputs implements RowInputs {
  private static final long serialVersionUID = 1L;

  private final String description;
  /** JSON; null: those that the description says. */
  private final String inputColumns;
  private final ArrayList<RawColumn.Spec> columns = new ArrayList<>();
  private final long fixedRows;
  /** The model's inputs, as one row is made of columns. */
  private final ArrayList<ValueInfo> made = new ArrayList<>();

  private PreparedInputs(String description, String inputColumns, List<ValueInfo> inputs) {
    this.description = description;
    this.inputColumns = inputColumns;
    this.fixedRows = inputs.stream().mapToLong(ValueInfo::fixedRows).max().orElse(-1);
  }

  /**
   * Throws if the columns are not what the model takes.
   *
   * @param description as {@link io.thalweg.Model#description} gives it
   * @param inputColumns JSON, the names of columns for each input after the features; null: those that the description says
   * @param text the column of texts; null if the model takes tables
   * @param nanAllowed whether NaN is a number like others, and does not make a row a bad one
   */
  public static PreparedInputs of(
      String description,
      String inputColumns,
      List<ValueInfo> inputs,
      SourceColumns source,
      String text,
      boolean nanAllowed) {
    PreparedInputs prepared = new PreparedInputs(description, inputColumns, inputs);
    try (Preparation preparation = prepared.newPreparation()) {
      Preparation.Needs needs = preparation.needs();
      for (String name : text != null ? List.of(text) : needs.columns()) {
        prepared.columns.add(RawColumn.Spec.of(name, source, needs.imputed().contains(name), nanAllowed));
      }
      prepared.tryNoRows(preparation, inputs);
    }
    return prepared;
  }

  /** The columns that a model's file asks for; empty if it takes texts. */
  public static List<String> needs(String description) {
    try (Preparation preparation = new Preparation(description, null)) {
      return preparation.needs().columns();
    }
  }

  private Preparation newPreparation() {
    return new Preparation(description, inputColumns);
  }

  /** Before there are any: types of columns that do not fit are told by the driver. */
  private void tryNoRows(Preparation preparation, List<ValueInfo> inputs) {
    try (RawColumns none = new RawColumns(columns);
        Result result = preparation.run(none.values(), 0, 0)) {
      for (int i = 0; i < inputs.size(); ++i) {
        Tensor tensor = result.tensor(i);
        long[] dims = tensor.dims().clone();
        dims[0] = 1;
        made.add(new ValueInfo(inputs.get(i).name(), tensor.dtype(), dims));
      }
    }
  }

  /** The inputs, as one row is made of columns. */
  List<ValueInfo> made() {
    return made;
  }

  RawRows newRows() {
    return new RawRows(newPreparation(), new RawColumns(columns));
  }

  @Override
  public long fixedRows() {
    return fixedRows;
  }

  @Override
  public long rowBytes() {
    return made.stream().mapToLong(input -> Tensor.bytes(input.dtype(), input.dims())).sum();
  }

  @Override
  public Batch newBatch() {
    return newRows();
  }

  /** Rows of raw columns, and the inputs that were made of them last. */
  static final class RawRows implements Batch {
    private final Preparation preparation;
    private final RawColumns columns;
    private Result inputs;

    RawRows(Preparation preparation, RawColumns columns) {
      this.preparation = preparation;
      this.columns = columns;
    }

    @Override
    public boolean accepts(Row row) {
      return true;
    }

    @Override
    public void add(Row row, int capacity) {
      columns.add(row);
    }

    RawColumns columns() {
      return columns;
    }

    @Override
    public void clear() {
      columns.clear();
      closeInputs();
    }

    @Override
    public String finish(int threads, BitSet bad) {
      return null;
    }

    @Override
    public void remove(BitSet which) {
      throw new ThalwegException("rows are bad when they are added, or not at all");
    }

    @Override
    public List<Tensor> tensors(int total) {
      closeInputs();
      inputs = preparation.run(columns.values(), columns.rows(), total);
      return IntStream.range(0, inputs.size()).mapToObj(inputs::tensor).toList();
    }

    private void closeInputs() {
      if (inputs != null) {
        inputs.close();
        inputs = null;
      }
    }

    @Override
    public void close() {
      closeInputs();
      columns.close();
      preparation.close();
    }
  }
}
