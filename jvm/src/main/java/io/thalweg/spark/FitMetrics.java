// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkEnv;
import org.apache.spark.metrics.source.Source;

/** How the training under way fares, among Spark's metrics of the driver (source "thalweg"). */
final class FitMetrics implements Source, AutoCloseable {
  /** What members report: the means over all of them. */
  private static final List<String> MEANS = List.of("step", "loss", "data_wait", "exchange_wait", "compute_seconds");

  private final MetricRegistry registry = new MetricRegistry();
  private final Map<String, Double> values = new ConcurrentHashMap<>();

  FitMetrics() {
    for (String name : MEANS) {
      gauge(name);
    }
    gauge("samples_per_second");
    gauge("workers");
    gauge("epoch_of_group");
    SparkEnv.get().metricsSystem().registerSource(this);
  }

  private void gauge(String name) {
    values.put(name, 0.0);
    registry.register(name, (Gauge<Double>) () -> values.get(name));
  }

  void update(JsonNode state) {
    JsonNode members = state.get("members");
    values.put("workers", (double) members.size());
    values.put("epoch_of_group", state.get("epoch").asDouble());
    for (String name : MEANS) {
      double sum = 0;
      int count = 0;
      for (JsonNode member : members) {
        if (member.has(name)) {
          sum += member.get(name).asDouble();
          ++count;
        }
      }
      values.put(name, count == 0 ? 0.0 : sum / count);
    }
    // Every member knows that of the whole group.
    double fastest = 0;
    for (JsonNode member : members) {
      fastest = Math.max(fastest, member.path("samples_per_second").asDouble());
    }
    values.put("samples_per_second", fastest);
  }

  @Override
  public String sourceName() {
    return "thalweg";
  }

  @Override
  public MetricRegistry metricRegistry() {
    return registry;
  }

  @Override
  public void close() {
    SparkEnv.get().metricsSystem().removeSource(this);
  }
}
