// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalweg.spark.RegisteredExecutors.Executor;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class WorkerPlacesTest {
  private static final Executor FIRST = new Executor("1", "a", 2);
  private static final Executor SECOND = new Executor("2", "b", 2);

  private static String[] assign(int perExecutor, List<Map<String, Integer>> votes) {
    return new WorkerPlaces(List.of(FIRST, SECOND), perExecutor).assign(votes);
  }

  @Test
  void workersGoWhereTheirRowsAre() {
    assertArrayEquals(
        new String[] {"executor_b_2", "executor_a_1"},
        assign(1, List.of(Map.of("executor_b_2", 1), Map.of("executor_a_1", 1))));
    // Files of HDFS are at hosts; the one that gains most comes first.
    assertArrayEquals(
        new String[] {"executor_a_1", "executor_b_2"}, assign(1, List.of(Map.of("b", 1), Map.of("b", 3, "a", 1))));
  }

  @Test
  void nobodyWaitsForAPlaceThatIsFull() {
    Map<String, Integer> cached = Map.of("executor_a_1", 5);
    assertArrayEquals(new String[] {"executor_a_1", "executor_b_2"}, assign(1, List.of(cached, cached)));
    assertArrayEquals(
        new String[] {"executor_a_1", "executor_a_1", "executor_b_2"}, assign(2, List.of(cached, cached, cached)));
  }

  @Test
  void workersWithoutRowsAreSpread() {
    assertArrayEquals(new String[] {"executor_a_1", "executor_b_2"}, assign(2, List.of(Map.of(), Map.of())));
    assertArrayEquals(
        new String[] {"executor_a_1", "executor_b_2", null}, assign(1, List.of(Map.of(), Map.of(), Map.of())));
    assertArrayEquals(new String[] {null}, new WorkerPlaces(List.of(), 1).assign(List.of(Map.of())));
  }

  @Test
  void executorsThatWereAskedForAreKnown() {
    SparkConf conf = new SparkConf(false).set("spark.executor.instances", "7");
    assertEquals(7, RegisteredExecutors.asked(conf, "yarn"));
    assertEquals(7, RegisteredExecutors.asked(conf, "k8s://https://host:6443"));
    assertEquals(3, RegisteredExecutors.asked(conf, "local-cluster[3, 1, 1024]"));
    assertEquals(1, RegisteredExecutors.asked(conf, "spark://host:7077"));
    assertEquals(0, RegisteredExecutors.asked(conf.set("spark.dynamicAllocation.enabled", "true"), "yarn"));
  }

  @Test
  void threadsAreNoMoreThanTheControlGroupHas() {
    assertEquals(4, new WorkerThreads(4, false, 1).of(8, "w"));
    assertEquals(2, new WorkerThreads(4, false, 1).of(2, "w"));
    assertEquals(1, new WorkerThreads(4, false, 2).of(2, "w"));
    assertEquals(1, new WorkerThreads(4, false, 4).of(2, "w"));
    assertEquals(4, new WorkerThreads(4, true, 1).of(2, "w"));
  }

  @Test
  void anExecutorWhosePortIsNotKnownYetHasAHost() {
    assertEquals("node1", RegisteredExecutors.hostOf("node1"));
    assertEquals("node1", RegisteredExecutors.hostOf("node1:40123"));
    assertEquals("[::1]", RegisteredExecutors.hostOf("[::1]:40123"));
  }
}
