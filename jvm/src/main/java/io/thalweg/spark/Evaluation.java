// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.Scores;
import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import io.thalweg.spark.columns.ScoreColumns;
import io.thalweg.spark.columns.SourceColumns;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** How well a model does on the rows of a DataFrame: each partition is a piece, the driver puts them together. */
final class Evaluation {
  private static final String OUTPUT = "thalweg_evaluated_output";

  private record Task(ScoreColumns columns, String metrics, String loss)
      implements FlatMapFunction<Iterator<Row>, double[]> {
    @Override
    public Iterator<double[]> call(Iterator<Row> rows) {
      try (Scores scores = new Scores(metrics, loss)) {
        columns.addTo(scores, rows);
        return List.of(scores.state()).iterator();
      }
    }
  }

  private Evaluation() {}

  /** JSON: names and values, of the model's first output. {@code loss} may be null. */
  static String run(
      ThalwegModel model, ModelSignature signature, Dataset<?> rows, String[] labelColumns, String metrics, String loss) {
    ValueInfo output = signature.outputs().get(0);
    if (output.rowElements() < 0) {
      throw new ThalwegException("the output " + output + " has rows of any length; they cannot be evaluated");
    }
    Dataset<Row> answered =
        model.setOutputCols(OUTPUT).setOutputs(output.name()).setOutputKinds("array").transform(rows);
    SourceColumns source = new SourceColumns(answered.schema(), column -> signature.classes());
    ScoreColumns columns = new ScoreColumns(source, OUTPUT, output.rowElements(), labelColumns, labelColumns.length);
    try (Scores total = new Scores(metrics, loss)) {
      answered.toJavaRDD().mapPartitions(new Task(columns, metrics, loss)).collect().forEach(total::merge);
      return total.values();
    }
  }
}
