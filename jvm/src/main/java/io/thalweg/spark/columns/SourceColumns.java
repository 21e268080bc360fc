// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.ThalwegException;
import java.util.Arrays;
import java.util.Optional;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/** The columns of a DataFrame, as the driver sees them: their types, and the numbers that stand for texts in them. */
public final class SourceColumns {
  /** Knows the texts of columns. */
  @FunctionalInterface
  public interface Texts {
    /** Null if it does not know those of this column. */
    TextIndex of(String column);
  }

  private static final String PATH = "path";

  private final StructType schema;
  private final Texts texts;

  public SourceColumns(StructType schema, Texts texts) {
    this.schema = schema;
    this.texts = texts;
  }

  public StructType schema() {
    return schema;
  }

  boolean has(String column) {
    return Arrays.asList(schema.fieldNames()).contains(column);
  }

  /** Throws if there is no such column. */
  public DataType type(String column) {
    if (!has(column)) {
      throw new ThalwegException(
          "there is no column '" + column + "'; the columns are " + String.join(", ", schema.fieldNames()));
    }
    return schema.apply(column).dataType();
  }

  public boolean isText(String column) {
    return type(column) instanceof StringType;
  }

  /** The column that messages call images by: the path, as the source binaryFile gives it. */
  public Optional<String> imageNames() {
    return has(PATH) && isText(PATH) ? Optional.of(PATH) : Optional.empty();
  }

  /** Whether every row has one number in it: a number, or a text that a number stands for. */
  boolean isScalar(String column) {
    return ColumnReader.isNumber(type(column)) || isText(column);
  }

  /** Throws if the column holds neither numbers nor texts that are known. */
  ColumnReader reader(String column) {
    if (!isText(column)) {
      return new ColumnReader(schema, column, null);
    }
    TextIndex index = texts.of(column);
    if (index == null) {
      throw new ThalwegException(
          "column '" + column + "' is of type string, and the model carries no numbers for its texts");
    }
    return new ColumnReader(schema, column, index);
  }
}
