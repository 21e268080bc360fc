// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.Model.Precision;
import io.thalweg.ThalwegException;
import io.thalweg.spark.columns.OutputColumn;
import io.thalweg.spark.columns.SourceColumns;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.apache.hadoop.fs.Path;
import org.apache.spark.ml.Model;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.ml.param.ParamMap$;
import org.apache.spark.ml.param.ParamPair;
import org.apache.spark.ml.util.Identifiable$;
import org.apache.spark.ml.util.MLReader;
import org.apache.spark.ml.util.MLWritable;
import org.apache.spark.ml.util.MLWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;

/**
 * An ONNX model as a stage of Spark ML: adds the model's answers to a DataFrame, which may be a stream. Saved, it is a
 * folder of Spark's metadata and a file model.onnx.
 */
public final class ThalwegModel extends Model<ThalwegModel> implements PredictionParams, MLWritable {
  private static final long serialVersionUID = 1L;

  private final String uid;
  private final transient PredictionParams.Holder params;
  private transient ModelFile file;
  private transient ModelSignature signature;
  private transient String trainingReport;

  /** For Spark, which gives a stage that it reads its name and parameters. */
  public ThalwegModel(String uid) {
    this.uid = uid;
    params = new PredictionParams.Holder(this);
    for (ParamPair<?> pair : params.defaults()) {
      setDefaultOf(pair);
    }
  }

  private <T> void setDefaultOf(ParamPair<T> pair) {
    setDefault(pair.param(), pair.value());
  }

  ThalwegModel(String uid, ModelFile file) {
    this(uid);
    use(file);
  }

  ThalwegModel(String uid, TrainedModel trained) {
    this(uid, trained.file());
    trainingReport = trained.report();
  }

  /** An ONNX file on any file system that Spark knows. */
  public static ThalwegModel fromFile(String path) {
    SparkSession session = SparkSession.active();
    return new ThalwegModel(
        Identifiable$.MODULE$.randomUID("ThalwegModel"),
        ModelFile.read(path, session.sparkContext().hadoopConfiguration()));
  }

  void use(ModelFile newFile) {
    file = newFile;
    signature = ModelSignature.of(newFile);
  }

  ModelFile file() {
    return file;
  }

  @Override
  public String uid() {
    return uid;
  }

  @Override
  public PredictionParams.Holder predictionParams() {
    return params;
  }

  public ThalwegModel setInputCols(String... columns) {
    return (ThalwegModel) set(inputCols(), columns);
  }

  public ThalwegModel setOutputCols(String... columns) {
    return (ThalwegModel) set(outputCols(), columns);
  }

  public ThalwegModel setOutputs(String... names) {
    return (ThalwegModel) set(outputs(), names);
  }

  public ThalwegModel setOutputKinds(String... kinds) {
    return (ThalwegModel) set(outputKinds(), kinds);
  }

  public ThalwegModel setBatchSize(int rows) {
    return (ThalwegModel) set(batchSize(), (Object) rows);
  }

  public ThalwegModel setThreads(int count) {
    return (ThalwegModel) set(threads(), (Object) count);
  }

  public ThalwegModel setPrecision(String name) {
    return (ThalwegModel) set(precision(), name);
  }

  public ThalwegModel setBadRows(String what) {
    return (ThalwegModel) set(badRows(), what);
  }

  public ThalwegModel setPreprocessing(String json) {
    return (ThalwegModel) set(preprocessing(), json);
  }

  public ThalwegModel setLabelCols(String... columns) {
    return (ThalwegModel) set(labelCols(), columns);
  }

  public ThalwegModel setLoss(String name) {
    return (ThalwegModel) set(loss(), name);
  }

  public ThalwegModel setSpread(boolean whether) {
    return (ThalwegModel) set(spread(), (Object) whether);
  }

  @Override
  public Dataset<Row> transform(Dataset<?> dataset) {
    boolean caseSensitive = QueryPlans.caseSensitive(dataset);
    PredictionPlan plan = plan(dataset.schema(), caseSensitive);
    boolean spread = (boolean) getOrDefault((Param<?>) spread());
    Dataset<Row> rows = spread ? Spreading.spread(dataset.toDF()) : dataset.toDF();
    MappedColumns columns = new MappedColumns(plan.schema(dataset.schema(), caseSensitive));
    return columns.restore(rows.mapPartitions(new PredictionTask(broadcast(rows.sparkSession()), plan), columns.encoder()));
  }

  @Override
  public StructType transformSchema(StructType schema) {
    boolean caseSensitive = SQLConf.get().caseSensitiveAnalysis();
    return plan(schema, caseSensitive).schema(schema, caseSensitive);
  }

  /** The same for all copies of this stage. */
  BroadcastFile broadcast(SparkSession session) {
    return file.broadcast(session.sparkContext());
  }

  private PredictionPlan plan(StructType schema, boolean caseSensitive) {
    checkValues();
    String images = isDefined(preprocessing()) ? getOrDefault(preprocessing()) : signature.property(ModelSignature.PREPROCESSING);
    SourceColumns source =
        new SourceColumns(schema, caseSensitive, column -> signature.categoriesOf(column, caseSensitive));
    Optional<String[]> columns = isDefined(inputCols()) ? Optional.of(getOrDefault(inputCols())) : Optional.empty();
    return new PredictionPlan(
        new InputChoice(signature, source, false).choose(columns, images),
        new ArrayList<>(outputColumns()),
        (int) getOrDefault((Param<?>) batchSize()),
        (int) getOrDefault((Param<?>) threads()),
        Precision.valueOf(getPrecision().toUpperCase(Locale.ROOT)),
        getOrDefault(badRows()).equals("skip"));
  }

  private void checkValues() {
    ParamChecks.requireAtLeast(0, batchSize(), this);
    ParamChecks.requireAtLeast(0, threads(), this);
    String[] precisions =
        Arrays.stream(Precision.values()).map(value -> value.name().toLowerCase(Locale.ROOT)).toArray(String[]::new);
    ParamChecks.requireOneOf(precisions, precision(), this);
    ParamChecks.requireOneOf(new String[] {"fail", "skip"}, badRows(), this);
  }

  private String[] required(Param<String[]> param) {
    if (!isDefined(param)) {
      throw new ThalwegException("the parameter " + param.name() + " of " + uid + " is not set: " + param.doc());
    }
    return getOrDefault(param);
  }

  private List<OutputColumn> outputColumns() {
    String[] columns = isDefined(outputCols()) ? getOrDefault(outputCols()) : null;
    String[] chosen = isDefined(outputs()) ? getOrDefault(outputs()) : null;
    String[] kinds = isSet(outputKinds()) ? getOrDefault(outputKinds()) : null;
    return OutputColumn.list(columns, chosen, kinds, signature.outputs(), signature.classNames());
  }

  @Override
  public ThalwegModel copy(ParamMap extra) {
    ThalwegModel copied = copyValues(new ThalwegModel(uid), extra);
    copied.file = file;
    copied.signature = signature;
    copied.trainingReport = trainingReport;
    return copied.setParent(parent());
  }

  /** The same with labelCols, the loss of the fit, and accuracy if that loss tells classes apart. */
  public String evaluate(Dataset<?> rows) {
    return evaluate(rows, null, null, null);
  }

  /**
   * Compares the model's first output with labels.
   *
   * @param labelColumns null: those of the parameter labelCols
   * @param metrics such as accuracy or auc; null: accuracy, if the loss tells classes apart
   * @param loss the name of one; null: that of the parameter loss, if it is set
   * @return a JSON object of names and values
   */
  public String evaluate(Dataset<?> rows, String[] labelColumns, String[] metrics, String loss) {
    String[] labels = labelColumns != null ? labelColumns : required(labelCols());
    String chosen = loss != null || !isDefined(loss()) ? loss : getOrDefault(loss());
    return Evaluation.run(copy(ParamMap$.MODULE$.empty()), signature, rows, labels, metrics, chosen);
  }

  /** How the fit went that made this model, as JSON (docs/spark.md); null if it was read from a file. */
  public String trainingReport() {
    return trainingReport;
  }

  /** Writes the model alone, as an ONNX file, to any file system that Spark knows; replaces what is there. */
  public void saveOnnx(String path) {
    try {
      file.copyTo(new Path(path), SparkSession.active().sparkContext().hadoopConfiguration());
    } catch (IOException failure) {
      throw new ThalwegException("the model cannot be written to " + path + ": " + failure.getMessage(), failure);
    }
  }

  @Override
  public MLWriter write() {
    return new ThalwegModelWriter(this);
  }

  public static MLReader<ThalwegModel> read() {
    return new ThalwegModelReader();
  }

  public static ThalwegModel load(String path) {
    return read().load(path);
  }
}
