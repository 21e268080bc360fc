// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class RegisteredExecutorsTest {
  private static final String STAND_ALONE = "spark://host:7077";

  private static SparkConf conf(String... settings) {
    SparkConf conf = new SparkConf(false);
    for (int i = 0; i < settings.length; i += 2) {
      conf.set(settings[i], settings[i + 1]);
    }
    return conf;
  }

  @Test
  void settingsSayHowManyThereWillBe() {
    assertEquals(3, RegisteredExecutors.limit(conf(), "local-cluster[3,1,1024]"));
    assertEquals(4, RegisteredExecutors.limit(conf("spark.executor.instances", "4"), "yarn"));
    assertEquals(Integer.MAX_VALUE, RegisteredExecutors.limit(conf(), "yarn"));
    assertEquals(4, RegisteredExecutors.limit(conf("spark.cores.max", "9", "spark.executor.cores", "2"), STAND_ALONE));
    assertEquals(Integer.MAX_VALUE, RegisteredExecutors.limit(conf("spark.cores.max", "9"), STAND_ALONE));
    assertEquals(0, RegisteredExecutors.limit(conf("spark.dynamicAllocation.enabled", "true"), STAND_ALONE));
  }

  @Test
  void othersMayComeForAsLongAsTheNewestGivesReasonToExpect() {
    assertFalse(RegisteredExecutors.isQuiet(0, 400));
    assertTrue(RegisteredExecutors.isQuiet(0, 500));
    assertFalse(RegisteredExecutors.isQuiet(4000, 1900));
    assertTrue(RegisteredExecutors.isQuiet(4000, 2000));
    // One that came for another an hour later keeps nobody waiting for half an hour.
    assertTrue(RegisteredExecutors.isQuiet(3_600_000, 3000));
  }
}
