// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkEnv;
import org.apache.spark.metrics.source.Source;

/**
 * How the training under way fares, among Spark's metrics of the driver: the source "thalweg", and for further fits at the
 * same time "fit2.thalweg" and so on. (Not "thalweg2": Spark forgets all metrics whose names begin as those of a source that
 * ends.)
 */
final class FitMetrics implements Source, AutoCloseable {
  /** What members report: the means over all of them, and those of each as "worker.SEAT.*". */
  private static final List<String> REPORTED = List.of("step", "loss", "data_wait", "exchange_wait", "compute_seconds");
  /** The numbers of the sources that Spark knows at the moment: a second one of the same name would be ignored. */
  private static final BitSet NUMBERS = new BitSet();

  private final MetricRegistry registry = new MetricRegistry();
  private final Map<String, Double> values = new ConcurrentHashMap<>();
  private final int number = takeNumber();

  FitMetrics() {
    REPORTED.forEach(name -> put(name, 0.0));
    put("samples_per_second", 0.0);
    put("workers", 0.0);
    put("epoch_of_group", 0.0);
    SparkEnv.get().metricsSystem().registerSource(this);
  }

  void update(JsonNode state) {
    JsonNode members = state.get("members");
    put("workers", members.size());
    put("epoch_of_group", state.get("epoch").asDouble());
    REPORTED.forEach(name -> put(name, mean(members, name)));
    // Every member knows that of the whole group.
    double fastest = 0;
    for (JsonNode member : members) {
      fastest = Math.max(fastest, member.path("samples_per_second").asDouble());
      updateWorker(member);
    }
    put("samples_per_second", fastest);
  }

  private void updateWorker(JsonNode member) {
    // Named by TrainingTask: "worker 3 (executor 1, host)".
    String worker = member.get("name").asText().replaceFirst("^worker (\\d+).*", "worker.$1.");
    for (String name : REPORTED) {
      if (member.has(name)) {
        put(worker + name, member.get(name).asDouble());
      }
    }
  }

  private static double mean(JsonNode members, String name) {
    double sum = 0;
    int count = 0;
    for (JsonNode member : members) {
      if (member.has(name)) {
        sum += member.get(name).asDouble();
        ++count;
      }
    }
    return count == 0 ? 0.0 : sum / count;
  }

  private void put(String name, double value) {
    if (values.put(name, value) == null) {
      registry.register(name, (Gauge<Double>) () -> values.get(name));
    }
  }

  @Override
  public String sourceName() {
    return number == 0 ? "thalweg" : "fit" + (number + 1) + ".thalweg";
  }

  @Override
  public MetricRegistry metricRegistry() {
    return registry;
  }

  @Override
  public void close() {
    SparkEnv.get().metricsSystem().removeSource(this);
    synchronized (NUMBERS) {
      NUMBERS.clear(number);
    }
  }

  private static int takeNumber() {
    synchronized (NUMBERS) {
      int free = NUMBERS.nextClearBit(0);
      NUMBERS.set(free);
      return free;
    }
  }
}
