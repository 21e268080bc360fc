// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.thalweg.DType;
import io.thalweg.HostCache;
import io.thalweg.Model;
import io.thalweg.Result;
import io.thalweg.Tensor;
import io.thalweg.ThalwegException;
import io.thalweg.jni.NativeModel;
import io.thalweg.spark.RegisteredExecutors.Executor;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;

/** Looks at every executor before anything else runs there: whether the engine loads, computes, and has what it needs. */
public final class Doctor {
  /** Adds up the two elements of each row. */
  private static final String SUM_MODEL = "/io/thalweg/spark/sum.onnx";
  private static final ObjectMapper MAPPER = new ObjectMapper();
  /** What Spark calls the executor of a local master. */
  private static final String DRIVER = "driver";
  private static final String GROUP = "group";
  private static final int MOST_ROUNDS = 5;
  /** A cluster that starts a machine for an executor takes minutes. */
  private static final long ARRIVAL_SECONDS = 120;
  private static final int LENET_PIXELS = 28 * 28;
  private static final double GROUP_SECONDS = 30;
  /** So that one executor does not take the tasks of all. */
  private static final long TASK_MILLISECONDS = 300;

  private Doctor() {}

  /**
   * A JSON object for each executor, by their names, and for "group", in which a worker of each trains with the others;
   * "problem" in one says what is wrong.
   */
  public static Map<String, String> examine(SparkSession session) throws JsonProcessingException {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
    if (!context.sc().isLocal()) {
      RegisteredExecutors.await(context, Integer.MAX_VALUE);
    }
    Map<String, String> reports = new TreeMap<>();
    Set<String> executors = Set.of();
    for (int round = 0; round < MOST_ROUNDS && (round == 0 || !reports.keySet().containsAll(executors)); ++round) {
      Optional<List<String[]>> found = examineSome(context);
      if (found.isEmpty()) {
        return Map.of(GROUP, problem("the application has no executor, and none has come for tasks within " + ARRIVAL_SECONDS
            + " s: has the cluster room for one (spark.executor.cores, spark.executor.memory)?"));
      }
      found.get().forEach(report -> reports.put(report[0], report[1]));
      // Anew each time: with dynamic allocation they come when there are tasks.
      executors = executors(context);
    }
    for (String executor : executors) {
      reports.putIfAbsent(executor, problem("none of the tasks of " + MOST_ROUNDS + " jobs has run there: it is busy or gone"));
    }
    reports.put(GROUP, trainTogether(session, Math.max(1, executors.size())));
    return reports;
  }

  /** Without the driver, which counts as one for Spark, unless there is no cluster. */
  private static Set<String> executors(JavaSparkContext context) {
    if (context.sc().isLocal()) {
      return Set.of(DRIVER);
    }
    return RegisteredExecutors.now(context).stream().map(Executor::id).collect(Collectors.toCollection(TreeSet::new));
  }

  /** The reports of tasks, enough for each executor to get some; none if there is nobody to run them. */
  private static Optional<List<String[]>> examineSome(JavaSparkContext context) {
    int tasks = Math.max(executors(context).size(), context.defaultParallelism()) * 2;
    String overhead = NativeMemory.of(context.getConf(), context.master()).bytes() / (1 << 20) + "m";
    JavaFutureAction<List<String[]>> running =
        context.parallelize(Collections.nCopies(tasks, 0), tasks).map(ignored -> examineHere(overhead)).collectAsync();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(ARRIVAL_SECONDS);
    for (; ; ) {
      try {
        return Optional.of(running.get(1, TimeUnit.SECONDS));
      } catch (TimeoutException stillRunning) {
        if (System.nanoTime() > end && executors(context).isEmpty()) {
          running.cancel(true);
          return Optional.empty();
        }
      } catch (ExecutionException failure) {
        throw new ThalwegException("the tasks that look at executors have failed: " + failure.getCause(), failure);
      } catch (InterruptedException interrupted) {
        running.cancel(true);
        Thread.currentThread().interrupt();
        throw new ThalwegException("the doctor was interrupted", interrupted);
      }
    }
  }

  /** Whether workers reach the driver and each other, in the only way that tells: a training. */
  private static String trainTogether(SparkSession session, int workers) throws JsonProcessingException {
    Dataset<Row> frame =
        session
            .range(0, workers, 1, workers)
            .select(
                functions.array_repeat(functions.lit(0.5f), LENET_PIXELS).as("image"), functions.lit(0).as("label"));
    long begin = System.nanoTime();
    try {
      TrainedModel trained =
          new Fit(
                  new ThalwegEstimator()
                      .setModel("zoo:lenet")
                      .setInputCols("image")
                      .setLabelCols("label")
                      .setLoss("cross_entropy")
                      .setEpochs(1)
                      .setBatchSize(workers)
                      .setNumWorkers(workers)
                      .setFormSeconds(GROUP_SECONDS),
                  frame)
              .run();
      ObjectNode report = (ObjectNode) MAPPER.readTree(trained.report());
      return report.put("seconds", (System.nanoTime() - begin) / 1e9).toString();
    } catch (ThalwegException failure) {
      return problem("the executors cannot train together: " + failure.getMessage()
          + ". Executors must reach the driver (spark.driver.host) and each other at any port");
    }
  }

  private static String problem(String text) throws JsonProcessingException {
    return MAPPER.writeValueAsString(Map.of("problem", text));
  }

  private static String[] examineHere(String overhead) throws InterruptedException, JsonProcessingException {
    Map<String, Object> report = new LinkedHashMap<>();
    try {
      describeProcess(report);
      report.put("memory_overhead", overhead);
      HostCache cache = HostCache.standard();
      report.put("cache", cache.root().toString());
      report.put("system", MAPPER.readTree(NativeModel.system()));
      report.put("answer", answer(cache));
    } catch (Exception | LinkageError failure) {
      report.put("problem", failure.toString());
    }
    Thread.sleep(TASK_MILLISECONDS);
    return new String[] {SparkEnv.get().executorId(), MAPPER.writeValueAsString(report)};
  }

  private static void describeProcess(Map<String, Object> report) throws IOException {
    SparkConf conf = SparkEnv.get().conf();
    report.put("host", InetAddress.getLocalHost().getHostName());
    report.put("cores", conf.get("spark.executor.cores", "not set"));
    report.put("task_cpus", TaskContext.get().cpus());
    report.put("heap_bytes", Runtime.getRuntime().maxMemory());
    report.put("java", System.getProperty("java.version"));
  }

  /** What a tiny model says; an error if that is wrong. */
  private static float answer(HostCache cache) throws IOException {
    Path file = cache.newFile(".onnx");
    try (InputStream stream = Doctor.class.getResourceAsStream(SUM_MODEL)) {
      Files.write(file, stream.readAllBytes());
      ByteBuffer numbers = Tensor.allocate(8).putFloat(0, 1.5f).putFloat(4, 2.25f);
      Tensor input = new Tensor(DType.F32, new long[] {1, 2}, numbers);
      try (Model model = new Model(file, 1, Model.Precision.F32);
          Result result = model.run(List.of(input))) {
        float sum = result.tensor(0).data().getFloat(0);
        if (sum != 3.75f) {
          throw new ThalwegException("the engine adds 1.5 and 2.25 up to " + sum);
        }
        return sum;
      }
    } finally {
      Files.deleteIfExists(file);
    }
  }
}
