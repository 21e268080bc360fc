// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalweg.ThalwegException;
import java.util.OptionalLong;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class NativeMemoryTest {
  private static final long MIB = 1 << 20;

  private static NativeMemory memory(String master, String... settings) {
    SparkConf conf = new SparkConf(false);
    for (int i = 0; i < settings.length; i += 2) {
      conf.set(settings[i], settings[i + 1]);
    }
    return NativeMemory.of(conf, master);
  }

  @Test
  void followsTheRulesOfSpark() {
    assertEquals(new NativeMemory(384 * MIB, true), memory("yarn"));
    assertEquals(new NativeMemory(819 * MIB, true), memory("yarn", "spark.executor.memory", "8g"));
    assertEquals(
        new NativeMemory(2048 * MIB, true),
        memory("yarn", "spark.executor.memory", "8g", "spark.executor.memoryOverheadFactor", "0.25"));
    assertEquals(
        new NativeMemory(1536 * MIB, false), memory("spark://host:7077", "spark.executor.memoryOverhead", "1536"));
    assertEquals(
        new NativeMemory(3276 * MIB, true),
        memory("k8s://https://host", "spark.executor.memory", "8g", "spark.kubernetes.resource.type", "python"));
  }

  @Test
  void rowsGetWhatTheModelLeaves() {
    assertEquals(
        OptionalLong.of(244 * MIB), new NativeMemory(1024 * MIB, true).rowBytes(2, 140 * MIB, OptionalLong.empty()));
    assertEquals(OptionalLong.empty(), new NativeMemory(1024 * MIB, false).rowBytes(2, 140 * MIB, OptionalLong.empty()));
    assertEquals(
        OptionalLong.of(100 * MIB), new NativeMemory(1024 * MIB, true).rowBytes(1, MIB, OptionalLong.of(100 * MIB)));
  }

  @Test
  void saysWhichSettingToRaise() {
    NativeMemory little = new NativeMemory(384 * MIB, true);
    ThalwegException failure =
        assertThrows(ThalwegException.class, () -> little.rowBytes(1, 200 * MIB, OptionalLong.empty()));
    assertTrue(failure.getMessage().contains("Set spark.executor.memoryOverhead to 488m or more"), failure.getMessage());
    failure = assertThrows(ThalwegException.class, () -> little.rowBytes(1, MIB, OptionalLong.of(1024 * MIB)));
    assertTrue(failure.getMessage().contains("to 1281m or more, or memoryBytes to less"), failure.getMessage());
    assertEquals(
        OptionalLong.of(1024 * MIB), new NativeMemory(384 * MIB, false).rowBytes(1, MIB, OptionalLong.of(1024 * MIB)));
  }
}
