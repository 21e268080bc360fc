// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.thalweg.Scores;
import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import io.thalweg.spark.columns.ScoreColumns;
import io.thalweg.spark.columns.SourceColumns;
import io.thalweg.spark.columns.TrainingColumns.Target;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.ml.functions;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.storage.StorageLevel;

/** How well a model does on the rows of a DataFrame: each partition is a piece, the driver puts them together. */
final class Evaluation {
  private static final String OUTPUT = "thalweg_evaluated_output";
  private static final String PROBABILITY = "thalweg_evaluated_probability";
  private static final String ACCURACY = "accuracy";
  private static final String BINARY_ACCURACY = "binary_accuracy";
  /** Metrics that take a single score above a half for the second of two classes. */
  private static final Set<String> DECIDING = Set.of(BINARY_ACCURACY, "precision", "recall", "f1");
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private record Task(ScoreColumns columns, String metrics, String loss, boolean skipBadRows)
      implements FlatMapFunction<Iterator<Row>, double[]> {
    @Override
    public Iterator<double[]> call(Iterator<Row> rows) {
      try (Scores scores = new Scores(metrics, loss)) {
        columns.addTo(scores, rows, TaskContext.getPartitionId(), skipBadRows);
        return List.of(scores.state()).iterator();
      }
    }
  }

  private Evaluation() {}

  /**
   * JSON: names and values, of the model's first output.
   *
   * @param model which is changed
   * @param metrics null: accuracy, where the labels are classes or nothing else is asked for
   * @param loss may be null
   */
  static String run(
      ThalwegModel model, ModelSignature signature, Dataset<?> rows, String[] labelColumns, String[] metrics, String loss) {
    ValueInfo output = signature.outputs().get(0);
    if (output.rowElements() < 0) {
      throw new ThalwegException("the output " + output + " has rows of any length; they cannot be evaluated");
    }
    boolean logits = isLogit(output, loss);
    Dataset<Row> answered = answered(model, output, rows, labelColumns, logits);
    SourceColumns source = new SourceColumns(answered.schema(), column -> signature.classes());
    ScoreColumns columns = new ScoreColumns(source, OUTPUT, output, labelColumns, targets(loss, output));
    String[] usual = loss == null || columns.ofClasses() ? new String[] {ACCURACY} : new String[0];
    List<String> asked = List.of(metrics != null ? metrics : usual);
    Map<Boolean, List<String>> byProbability =
        asked.stream()
            .map(name -> output.rowElements() == 1 && name.equals(ACCURACY) ? BINARY_ACCURACY : name)
            .distinct()
            .collect(Collectors.partitioningBy(name -> logits && DECIDING.contains(name)));
    boolean skip = model.getBadRows().equals("skip");
    List<Task> tasks = new ArrayList<>();
    if (loss != null || !byProbability.get(false).isEmpty()) {
      tasks.add(new Task(columns, String.join(",", byProbability.get(false)), loss, skip));
    }
    if (!byProbability.get(true).isEmpty()) {
      ScoreColumns decided = new ScoreColumns(source, PROBABILITY, output, labelColumns, targets(loss, output));
      tasks.add(new Task(decided, String.join(",", byProbability.get(true)), null, skip));
    }
    return asAsked(values(answered.toJavaRDD(), tasks), asked).toString();
  }

  /** Whether the output is one score that stands for two classes, from below 0 to above; the classes of a column do so. */
  private static boolean isLogit(ValueInfo output, String loss) {
    return output.rowElements() == 1 && output.dims().length <= 2 && (loss == null || loss.equals("bce_with_logits"));
  }

  /** The model's answers to the rows; of logits also the probabilities by which a column of kind class decides. */
  private static Dataset<Row> answered(
      ThalwegModel model, ValueInfo output, Dataset<?> rows, String[] labelColumns, boolean logits) {
    model.setOutputs(output.name());
    if (!logits) {
      return model.setOutputCols(OUTPUT).setOutputKinds("array").transform(rows);
    }
    Dataset<Row> answered =
        model.setOutputCols(OUTPUT, PROBABILITY).setOutputKinds("array", "probability").transform(rows);
    SourceColumns source = new SourceColumns(answered.schema(), column -> null);
    List<Column> kept = new ArrayList<>();
    kept.add(answered.col(OUTPUT));
    kept.add(functions.vector_to_array(answered.col(PROBABILITY), "float64").getItem(1).as(PROBABILITY));
    for (String column : new LinkedHashSet<>(List.of(labelColumns))) {
      source.type(column); // which says what there is, if it is not there
      kept.add(QueryPlans.column(answered, column));
    }
    return answered.select(kept.toArray(new Column[0]));
  }

  /** Of all tasks; the model runs once for them. */
  private static ObjectNode values(JavaRDD<Row> rows, List<Task> tasks) {
    ObjectNode found = MAPPER.createObjectNode();
    boolean again = tasks.size() > 1;
    JavaRDD<Row> kept = again ? rows.persist(StorageLevel.MEMORY_AND_DISK()) : rows;
    try {
      for (Task task : tasks) {
        try (Scores total = new Scores(task.metrics(), task.loss())) {
          kept.mapPartitions(task).collect().forEach(total::merge);
          found.setAll((ObjectNode) MAPPER.readTree(total.values()));
        }
      }
    } catch (JsonProcessingException problem) {
      throw new ThalwegException("the engine's scores cannot be read: " + problem.getMessage(), problem);
    } finally {
      if (again) {
        kept.unpersist(false);
      }
    }
    return found;
  }

  /** The accuracy of a single score has another name in the engine. */
  private static ObjectNode asAsked(ObjectNode found, List<String> asked) {
    if (asked.contains(ACCURACY) && !found.has(ACCURACY)) {
      found.set(ACCURACY, found.get(BINARY_ACCURACY));
      if (!asked.contains(BINARY_ACCURACY)) {
        found.remove(BINARY_ACCURACY);
      }
    }
    return found;
  }

  private static List<Target> targets(String loss, ValueInfo output) {
    if (loss == null) {
      return List.of();
    }
    long[] rowDims = Arrays.copyOfRange(output.dims(), 1, output.dims().length);
    return ModelDescription.targets(Scores.targets(loss, rowDims));
  }
}
