// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.DType;
import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Where the rows of one input of a model come from. Made by the driver, which checks it; used by the tasks. */
public abstract class ModelInput implements Serializable {
  private static final long serialVersionUID = 1L;

  private final ValueInfo info;

  ModelInput(ValueInfo info) {
    if (info.dtype() == null || info.dims() == null || info.dims().length == 0) {
      throw new ThalwegException("the model does not say of which type and shape its input '" + info.name() + "' is");
    }
    this.info = info;
  }

  public final ValueInfo info() {
    return info;
  }

  public final DType dtype() {
    return info.dtype();
  }

  /** In bytes; -1 if it differs from row to row. */
  public long rowBytes() {
    return info.rowElements() < 0 ? -1 : info.rowElements() * dtype().bytes();
  }

  public abstract InputBatch newBatch();

  /**
   * Deals columns out to the inputs of a model, in order. A single input gets all of them. Of several, each gets one
   * column of arrays, vectors or images, or as many columns of single numbers as a row of it has elements.
   *
   * @param preprocessing of images, as JSON; null if there is none
   */
  public static List<ModelInput> assign(
      List<ValueInfo> inputs, SourceColumns source, String[] columns, String preprocessing) {
    List<ModelInput> assigned = new ArrayList<>();
    int next = 0;
    for (ValueInfo input : inputs) {
      int wanted = inputs.size() == 1 ? columns.length : wanted(input, source, columns, next);
      if (wanted == 0 || next + wanted > columns.length) {
        throw new ThalwegException(
            "the model's inputs (" + names(inputs) + ") need more than the " + columns.length + " input columns given");
      }
      assigned.add(make(input, source, List.of(columns).subList(next, next + wanted), preprocessing));
      next += wanted;
    }
    if (next < columns.length) {
      throw new ThalwegException(
          "the model's inputs (" + names(inputs) + ") need only " + next + " of the " + columns.length + " input columns");
    }
    return assigned;
  }

  private static int wanted(ValueInfo input, SourceColumns source, String[] columns, int next) {
    boolean scalar = next < columns.length && source.isScalar(columns[next]);
    return scalar ? (int) Math.max(1, input.rowElements()) : 1;
  }

  private static ModelInput make(ValueInfo input, SourceColumns source, List<String> columns, String preprocessing) {
    if (columns.size() == 1 && ImageInput.isImage(source.type(columns.get(0)))) {
      return new ImageInput(input, source, columns.get(0), preprocessing);
    }
    for (String column : columns) {
      if (source.isText(column) && (input.dtype() == null || !input.dtype().isWhole())) {
        throw new ThalwegException(
            "column '" + column + "' is of type string; the model's input " + input + " takes numbers, arrays of numbers or"
                + " vectors, and texts only if it is one of whole numbers (such as an Embedding takes): put the numbers of"
                + " the texts into a column of their own, and give that");
      }
    }
    requireElements(input, source, columns);
    return new NumberInput(input, columns.stream().map(source::reader).toList());
  }

  /** Of columns that have one number in every row it is known before any row is read whether they fill the input. */
  private static void requireElements(ValueInfo input, SourceColumns source, List<String> columns) {
    if (input.dims() == null || !columns.stream().allMatch(source::isScalar)) {
      return;
    }
    long known = 1;
    boolean free = false;
    for (int i = 1; i < input.dims().length; ++i) {
      if (input.dims()[i] < 0) {
        free = true;
      } else {
        known *= input.dims()[i];
      }
    }
    if (free ? known > 0 && columns.size() % known != 0 : columns.size() != known) {
      throw new ThalwegException(
          "the model's input " + input + " takes " + (free ? "a multiple of " : "") + known + " numbers of a row, but the "
              + columns.size() + " input column(s) given hold one each: " + String.join(", ", columns));
    }
  }

  private static String names(List<ValueInfo> inputs) {
    return inputs.stream().map(ValueInfo::toString).collect(Collectors.joining(", "));
  }
}
