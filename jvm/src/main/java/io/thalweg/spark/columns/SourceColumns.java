// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.ThalwegException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of a DataFrame, as the driver sees them: their types, and the numbers that stand for texts in them. Its
 * methods take columns as the schema calls them; {@link #resolve} finds that name for what a user wrote.
 */
public final class SourceColumns {
  /** Knows the texts of columns. */
  @FunctionalInterface
  public interface Texts {
    /** Null if it does not know those of this column. */
    TextIndex of(String column);
  }

  private static final String PATH = "path";

  private final StructType schema;
  private final boolean caseSensitive;
  private final Texts texts;

  /** {@code caseSensitive} is whether the session of the rows tells names apart that differ by case alone. */
  public SourceColumns(StructType schema, boolean caseSensitive, Texts texts) {
    this.schema = schema;
    this.caseSensitive = caseSensitive;
    this.texts = texts;
  }

  public StructType schema() {
    return schema;
  }

  /** Whether two names are those of one column, in the session of the rows. */
  public static boolean same(String name, String other, boolean caseSensitive) {
    return caseSensitive ? name.equals(other) : name.equalsIgnoreCase(other);
  }

  /** What the schema calls the column of this name, as Spark itself would find it. Throws if there is none, or several. */
  public String resolve(String name) {
    List<String> found = matching(name);
    if (found.isEmpty()) {
      throw new ThalwegException(
          "there is no column '" + name + "'; the columns are " + String.join(", ", schema.fieldNames()));
    }
    if (found.size() > 1) {
      throw new ThalwegException(
          "column '" + name + "' is ambiguous, it could be any of " + String.join(", ", found) + ": rename or drop the others"
              + (caseSensitive ? "" : " (spark.sql.caseSensitive is false)"));
    }
    return found.get(0);
  }

  public String[] resolve(String[] names) {
    return Arrays.stream(names).map(this::resolve).toArray(String[]::new);
  }

  private List<String> matching(String name) {
    return Arrays.stream(schema.fieldNames()).filter(field -> same(name, field, caseSensitive)).toList();
  }

  /** Throws if there is no such column. */
  public DataType type(String column) {
    return schema.apply(resolve(column)).dataType();
  }

  public boolean isText(String column) {
    return type(column) instanceof StringType;
  }

  /** The column that messages call images by: the path, as the source binaryFile gives it. */
  public Optional<String> imageNames() {
    List<String> found = matching(PATH);
    return found.size() == 1 && isText(found.get(0)) ? Optional.of(found.get(0)) : Optional.empty();
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
