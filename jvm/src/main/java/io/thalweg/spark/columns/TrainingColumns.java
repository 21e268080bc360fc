// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.DType;
import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;

/** What a worker keeps of every row of a DataFrame; made and checked by the driver, used by the tasks. */
public final class TrainingColumns implements Serializable {
  private static final long serialVersionUID = 1L;

  /**
   * A type that the loss takes for the target of a row.
   *
   * @param dims of one row
   * @param classes where they are class numbers; else null
   */
  public record Target(DType dtype, long[] dims, ClassNumbers classes) {
    /** Whether it is the number of a class. */
    boolean isClass() {
      return dtype == DType.I64 && classes != null;
    }

    long elements() {
      long product = 1;
      for (long dim : dims) {
        product *= dim;
      }
      return product;
    }
  }

  /** What the engine makes the model's inputs of; null if they are fields. */
  private final PreparedInputs prepared;
  private final ArrayList<TrainingField.Spec> fields = new ArrayList<>();
  private final InternalRows rows;
  /** The column that names rows; -1 if there is none. */
  private final int path;
  private final boolean ofClasses;

  /**
   * @param augmentation of images while training, as JSON; null: as for prediction
   * @param targets what the loss takes, in the order of preference
   * @param nanAllowed whether the training takes NaN; else it makes a row a bad one
   */
  public TrainingColumns(
      RowInputs inputs,
      String augmentation,
      List<Target> targets,
      SourceColumns source,
      String[] labelColumns,
      boolean nanAllowed) {
    rows = new InternalRows(source.schema());
    path = source.imageNames().map(source.schema()::fieldIndex).orElse(-1);
    prepared = inputs instanceof PreparedInputs made ? made : null;
    List<ModelInput> separate = inputs instanceof SeparateInputs given ? given.inputs() : List.of();
    for (ModelInput input : separate) {
      fields.add(specOf(input, augmentation, nanAllowed));
    }
    List<ColumnReader> labels = new ArrayList<>();
    for (String column : labelColumns) {
      labels.add(source.reader(column));
    }
    boolean scalars = Arrays.stream(labelColumns).allMatch(source::isScalar);
    Target target = choose(targets, labels, scalars);
    ofClasses = target.isClass();
    fields.add(NumberField.NumberSpec.ofTarget(target, labels, nanAllowed));
    for (ModelInput input : separate) {
      if (input instanceof ImageInput image) {
        fields.add(new BytesField.NameSpec(image));
        break;
      }
    }
  }

  /** Whether the labels are numbers of classes. */
  public boolean ofClasses() {
    return ofClasses;
  }

  /** As tw_rows_create takes it. */
  public String json() {
    Stream<String> ofInputs = prepared == null ? Stream.empty() : prepared.made().stream().map(TrainingColumns::json);
    return Stream.concat(ofInputs, fields.stream().map(TrainingField.Spec::json)).collect(Collectors.joining(", ", "[", "]"));
  }

  /** Makes of Spark's internal rows those that a chunk takes. */
  public Iterator<Row> convert(Iterator<InternalRow> internal) {
    return rows.convert(internal);
  }

  /** What a message adds to the number of a row: " (PATH)" if there is one. */
  public String nameOf(Row row) {
    return path >= 0 && !row.isNullAt(path) ? " (" + row.getString(path) + ")" : "";
  }

  public RowChunk newChunk() {
    return new RowChunk(
        prepared == null ? null : prepared.newRows(), fields.stream().map(TrainingField.Spec::newField).toList());
  }

  private static String json(ValueInfo row) {
    return NumberField.NumberSpec.json(row.name(), "input", row.dtype(), Arrays.copyOfRange(row.dims(), 1, row.dims().length));
  }

  private static TrainingField.Spec specOf(ModelInput input, String augmentation, boolean nanAllowed) {
    if (input instanceof ImageInput image) {
      return new BytesField.ImageSpec(image, augmentation != null ? augmentation : image.preprocessing());
    }
    long[] dims = new long[input.info().dims().length - 1];
    for (int i = 0; i < dims.length; ++i) {
      dims[i] = input.info().dims()[i + 1];
      if (dims[i] < 0) {
        throw new ThalwegException(
            "the input " + input.info() + " has rows of any length; for training they must be of one");
      }
    }
    return NumberField.NumberSpec.ofInput((NumberInput) input, dims, nanAllowed);
  }

  /** The first that these columns hold. */
  static Target choose(List<Target> targets, List<ColumnReader> labels, boolean scalars) {
    for (Target target : targets) {
      if (scalars ? target.elements() == labels.size() : target.dims().length > 0) {
        return target;
      }
    }
    String taken = targets.stream().map(target -> target.dtype() + Arrays.toString(target.dims()))
        .collect(Collectors.joining(" or "));
    throw new ThalwegException(
        "the loss takes " + (taken.isEmpty() ? "no labels of numbers" : taken) + " for each row, which the label columns ("
            + labels.stream().map(ColumnReader::column).collect(Collectors.joining(", ")) + ") do not hold");
  }
}
