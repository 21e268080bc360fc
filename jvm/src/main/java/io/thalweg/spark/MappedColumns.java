// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of rows that go through a function. Spark drops their metadata there: what stages of Spark ML know of a
 * column (the texts behind the numbers of StringIndexer, the attributes of vectors), and the watermarks of streams.
 */
final class MappedColumns {
  private final StructType schema;

  /** {@code schema} is that of the rows which the function gives. */
  MappedColumns(StructType schema) {
    this.schema = schema;
  }

  /** For the function. The columns have numbers for names: those of the schema may be there twice, as after a join. */
  Encoder<Row> encoder() {
    StructType numbered = new StructType();
    for (int i = 0; i < schema.length(); ++i) {
      StructField field = schema.apply(i);
      numbered = numbered.add(name(i), field.dataType(), field.nullable());
    }
    return Encoders.row(numbered);
  }

  /** What the function gave, with the names and the metadata of the schema. */
  Dataset<Row> restore(Dataset<Row> mapped) {
    Column[] columns = new Column[schema.length()];
    for (int i = 0; i < columns.length; ++i) {
      columns[i] = mapped.col(name(i)).as(schema.apply(i).name(), schema.apply(i).metadata());
    }
    return mapped.select(columns);
  }

  private static String name(int index) {
    return "_" + index;
  }
}
