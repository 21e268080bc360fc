// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.Scores;
import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import io.thalweg.spark.columns.ScoreColumns;
import io.thalweg.spark.columns.SourceColumns;
import io.thalweg.spark.columns.TrainingColumns.Target;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** How well a model does on the rows of a DataFrame: each partition is a piece, the driver puts them together. */
final class Evaluation {
  private static final String OUTPUT = "thalweg_evaluated_output";
  private static final String ACCURACY = "accuracy";

  private record Task(ScoreColumns columns, String metrics, String loss, long[] outputDims, boolean skipBadRows)
      implements FlatMapFunction<Iterator<Row>, double[]> {
    @Override
    public Iterator<double[]> call(Iterator<Row> rows) {
      try (Scores scores = newScores()) {
        columns.addTo(scores, rows, TaskContext.getPartitionId(), skipBadRows);
        return List.of(scores.state()).iterator();
      }
    }

    Scores newScores() {
      return new Scores(metrics, loss, outputDims);
    }
  }

  private Evaluation() {}

  /**
   * JSON: names and values, of the model's first output.
   *
   * @param model which is changed
   * @param metrics null: accuracy, where labels are classes, or nothing else is asked for
   * @param loss may be null
   */
  static String run(
      ThalwegModel model, ModelSignature signature, Dataset<?> rows, String[] labelColumns, String[] metrics, String loss) {
    ValueInfo output = signature.outputs().get(0);
    if (output.rowElements() < 0) {
      throw new ThalwegException("the output " + output + " has rows of any length; they cannot be evaluated");
    }
    long[] outputDims = Arrays.copyOfRange(output.dims(), 1, output.dims().length);
    List<Target> targets =
        loss == null ? List.of() : ModelDescription.targets(Scores.targets(loss, outputDims));
    Dataset<Row> answered =
        model.setOutputs(output.name()).setOutputCols(OUTPUT).setOutputKinds("array").transform(rows);
    SourceColumns source =
        new SourceColumns(answered.schema(), QueryPlans.caseSensitive(rows), column -> signature.classes());
    ScoreColumns columns = new ScoreColumns(source, OUTPUT, output, source.resolve(labelColumns), targets);
    boolean classes = columns.ofClasses() || TwoClasses.inOneScore(output, loss);
    String[] usual = loss == null || classes ? new String[] {ACCURACY} : new String[0];
    String names = String.join(",", new LinkedHashSet<>(List.of(metrics != null ? metrics : usual)));
    Task task = new Task(columns, names, loss, outputDims, model.getBadRows().equals("skip"));
    try (Scores total = task.newScores()) {
      answered.toJavaRDD().mapPartitions(task).collect().forEach(total::merge);
      return total.values();
    }
  }
}
