// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.DType;
import io.thalweg.Tensor;
import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.ml.linalg.DenseVector;
import org.apache.spark.ml.linalg.SQLDataTypes;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** A column that one output of a model becomes. */
public final class OutputColumn implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String column;
  private final int outputIndex;
  private final ValueInfo output;
  private final OutputKind kind;
  private final ArrayList<String> classNames;

  /** {@code classNames} may be empty. */
  public OutputColumn(String column, int outputIndex, ValueInfo output, OutputKind kind, List<String> classNames) {
    if (output.dtype() == null) {
      throw new ThalwegException("the model does not say of which type its output '" + output.name() + "' is");
    }
    if (kind == OutputKind.ARRAY && output.dims() == null) {
      throw new ThalwegException(
          "the model does not say how many dimensions its output '" + output.name() + "' has; take it as a struct");
    }
    if (kind == OutputKind.LABEL && classNames.isEmpty()) {
      throw new ThalwegException("the model carries no names of classes, which column '" + column + "' would hold");
    }
    if (kind == OutputKind.VALUE && output.rowElements() > 1) {
      throw notOne(output, output.rowElements());
    }
    this.classNames = new ArrayList<>(classNames);
    this.column = column;
    this.outputIndex = outputIndex;
    this.output = output;
    this.kind = kind;
  }

  /**
   * The columns that a stage adds.
   *
   * @param columns their names; null: one for each output that is chosen, called as that is
   * @param chosen the name of the output for each; null: the only one, or all in order
   * @param kinds the kind of each, or one for all; null: arrays
   * <p>Where nothing is asked for, a model whose classes have names gives the columns of Spark's own classifiers.
   */
  public static List<OutputColumn> list(
      String[] columns, String[] chosen, String[] kinds, List<ValueInfo> outputs, List<String> classNames) {
    boolean nothingAsked = columns == null && chosen == null && kinds == null;
    if (nothingAsked && outputs.size() == 1 && !classNames.isEmpty() && outputs.get(0).rowElements() > 0) {
      return ofClassifier(outputs.get(0), classNames);
    }
    return listed(columns, chosen, kinds == null ? new String[] {OutputKind.ARRAY.toString()} : kinds, outputs, classNames);
  }

  /** As ProbabilisticClassificationModel of Spark ML calls them, and the name of the class. */
  private static List<OutputColumn> ofClassifier(ValueInfo output, List<String> classNames) {
    return List.of(
        new OutputColumn("rawPrediction", 0, output, OutputKind.RAW, classNames),
        new OutputColumn("probability", 0, output, OutputKind.PROBABILITY, classNames),
        new OutputColumn("prediction", 0, output, OutputKind.CLASS, classNames),
        new OutputColumn("predictedLabel", 0, output, OutputKind.LABEL, classNames));
  }

  private static List<OutputColumn> listed(
      String[] columns, String[] chosen, String[] kinds, List<ValueInfo> outputs, List<String> classNames) {
    List<String> known = outputs.stream().map(ValueInfo::name).toList();
    String[] all = chosen != null ? chosen : known.toArray(new String[0]);
    String[] names = columns != null ? columns : all;
    checkLength("outputs", chosen, names);
    checkLength("outputKinds", kinds, names);
    List<OutputColumn> result = new ArrayList<>();
    for (int i = 0; i < names.length; ++i) {
      int output = chosen != null ? known.indexOf(chosen[chosen.length == 1 ? 0 : i]) : known.size() == 1 ? 0 : i;
      if (output < 0 || output >= known.size()) {
        throw new ThalwegException(
            "there is no output of the model for column '" + names[i] + "'; its outputs are " + known);
      }
      result.add(new OutputColumn(names[i], output, outputs.get(output), OutputKind.of(kinds[kinds.length == 1 ? 0 : i]), classNames));
    }
    return result;
  }

  private static void checkLength(String parameter, String[] values, String[] columns) {
    if (values != null && values.length != 1 && values.length != columns.length) {
      throw new ThalwegException(
          parameter + " has " + values.length + " entries (" + String.join(", ", values) + ") for " + columns.length
              + " output columns (" + String.join(", ", columns) + "): it needs one for each, or one for all");
    }
  }

  /**
   * The schema with these columns behind it.
   *
   * @param caseSensitive whether Spark looks names up so: by default it could not tell 'a' from 'A' afterwards
   */
  public static StructType appended(StructType before, List<OutputColumn> columns, boolean caseSensitive) {
    Comparator<String> order = caseSensitive ? Comparator.naturalOrder() : String.CASE_INSENSITIVE_ORDER;
    Set<String> taken = new TreeSet<>(order);
    Collections.addAll(taken, before.fieldNames());
    Set<String> added = new TreeSet<>(order);
    StructType after = before;
    for (OutputColumn output : columns) {
      if (taken.contains(output.column)) {
        throw new ThalwegException("the output column '" + output.column + "' exists already");
      }
      if (!added.add(output.column)) {
        throw new ThalwegException("there are two output columns '" + output.column + "'");
      }
      after = after.add(output.field());
    }
    return after;
  }

  public StructField field() {
    return DataTypes.createStructField(column, type(), false);
  }

  private DataType type() {
    DataType element = Elements.sparkType(output.dtype());
    switch (kind) {
      case RAW:
      case PROBABILITY:
        return SQLDataTypes.VectorType();
      case CLASS:
        return DataTypes.DoubleType;
      case LABEL:
        return DataTypes.StringType;
      case VALUE:
        return element;
      case STRUCT:
        return DataTypes.createStructType(
            new StructField[] {
              DataTypes.createStructField("shape", DataTypes.createArrayType(DataTypes.LongType, false), false),
              DataTypes.createStructField("values", DataTypes.createArrayType(element, false), false)
            });
      default:
        DataType type = element;
        for (int i = 1; i < output.dims().length; ++i) {
          type = DataTypes.createArrayType(type, false);
        }
        return type;
    }
  }

  /** The value of the column for one row of the batch. */
  public Object value(Tensor tensor, int row) {
    long[] rowDims = Arrays.copyOfRange(tensor.dims(), 1, tensor.dims().length);
    DType dtype = tensor.dtype();
    int count = (int) (Tensor.bytes(dtype, rowDims) / dtype.bytes());
    int first = row * count;
    switch (kind) {
      case CLASS:
        return (double) tensor.data().asLongBuffer().get(row);
      case LABEL:
        return className(tensor.data().asLongBuffer().get(row));
      case RAW:
      case PROBABILITY:
        return new DenseVector(Elements.doubles(dtype, tensor.data(), first, count));
      case VALUE:
        if (count != 1) {
          throw notOne(output, count);
        }
        return Elements.element(dtype, tensor.data(), first);
      case STRUCT:
        return RowFactory.create(rowDims, Elements.array(dtype, tensor.data(), first, count));
      default:
        return nested(tensor, rowDims, 0, first, count);
    }
  }

  private static ThalwegException notOne(ValueInfo output, long elements) {
    return new ThalwegException(
        "the model's output '" + output.name() + "' has " + elements + " elements in a row, not the one of a column of"
            + " kind value");
  }

  private static Object nested(Tensor tensor, long[] dims, int depth, int first, int count) {
    if (depth == dims.length) {
      return Elements.element(tensor.dtype(), tensor.data(), first);
    }
    if (depth == dims.length - 1) {
      return Elements.array(tensor.dtype(), tensor.data(), first, count);
    }
    Object[] parts = new Object[(int) dims[depth]];
    for (int i = 0; i < parts.length; ++i) {
      int size = count / parts.length;
      parts[i] = nested(tensor, dims, depth + 1, first + i * size, size);
    }
    return parts;
  }

  private String className(long index) {
    if (index >= classNames.size()) {
      throw new ThalwegException(
          "the model gave class " + index + ", but carries only " + classNames.size() + " names of classes");
    }
    return classNames.get((int) index);
  }

  /** What the values of the column are taken from, for a batch of {@code rows}. */
  public Tensor tensor(BatchOutputs outputs, int rows) {
    Tensor tensor = outputs.output(outputIndex);
    if (tensor.dims().length == 0 || tensor.dims()[0] != rows) {
      throw new ThalwegException(
          "the model's output '" + output.name() + "' has the shape " + Arrays.toString(tensor.dims()) + " for " + rows
              + " rows: its outermost dimension is not the rows");
    }
    if (!kind.isOfClasses()) {
      return tensor;
    }
    return kind == OutputKind.PROBABILITY ? outputs.probabilities(outputIndex) : outputs.classes(outputIndex);
  }
}
