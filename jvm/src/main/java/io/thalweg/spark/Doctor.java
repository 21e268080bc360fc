// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.thalweg.DType;
import io.thalweg.HostCache;
import io.thalweg.Model;
import io.thalweg.Result;
import io.thalweg.Tensor;
import io.thalweg.ThalwegException;
import io.thalweg.jni.NativeModel;
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
import java.util.TreeMap;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** Looks at every executor before anything else runs there: whether the engine loads, computes, and has what it needs. */
public final class Doctor {
  /** Adds up the two elements of each row. */
  private static final String SUM_MODEL = "/io/thalweg/spark/sum.onnx";
  private static final int MOST_ROUNDS = 5;
  /** So that one executor does not take the tasks of all. */
  private static final long TASK_MILLISECONDS = 300;

  private Doctor() {}

  /** A JSON object for each executor that could be reached, by their names; "problem" in it says what is wrong. */
  public static Map<String, String> examine(SparkSession session) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
    // Spark counts the driver among them.
    int executors = Math.max(1, context.sc().statusTracker().getExecutorInfos().length - 1);
    int tasks = Math.max(executors, context.defaultParallelism()) * 2;
    Map<String, String> reports = new TreeMap<>();
    for (int round = 0; round < MOST_ROUNDS && reports.size() < executors; ++round) {
      List<Integer> numbers = Collections.nCopies(tasks, 0);
      for (String[] report : context.parallelize(numbers, tasks).map(ignored -> examineHere()).collect()) {
        reports.put(report[0], report[1]);
      }
    }
    return reports;
  }

  private static String[] examineHere() throws InterruptedException, JsonProcessingException {
    Map<String, Object> report = new LinkedHashMap<>();
    try {
      describeProcess(report);
      HostCache cache = HostCache.standard();
      report.put("cache", cache.root().toString());
      report.put("system", new ObjectMapper().readTree(NativeModel.system()));
      report.put("answer", answer(cache));
    } catch (Exception | LinkageError failure) {
      report.put("problem", failure.toString());
    }
    Thread.sleep(TASK_MILLISECONDS);
    return new String[] {SparkEnv.get().executorId(), new ObjectMapper().writeValueAsString(report)};
  }

  private static void describeProcess(Map<String, Object> report) throws IOException {
    SparkConf conf = SparkEnv.get().conf();
    report.put("host", InetAddress.getLocalHost().getHostName());
    report.put("cores", conf.get("spark.executor.cores", "not set"));
    report.put("task_cpus", TaskContext.get().cpus());
    report.put("heap_bytes", Runtime.getRuntime().maxMemory());
    report.put("memory_overhead", conf.get("spark.executor.memoryOverhead", "not set"));
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
