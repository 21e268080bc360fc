// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalweg.spark.RegisteredExecutors.Executor;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Test;

class PlacedPartitionsTest {
  private static final Executor GONE = new Executor("1", "elsewhere", 1);

  @Test
  void aWorkerThatStartsAgainIsNotHeldBackForItsFirstPlace() {
    SparkConf conf = new SparkConf().setMaster("local[1]").setAppName("places").set("spark.ui.enabled", "false");
    try (JavaSparkContext context = new JavaSparkContext(conf)) {
      AdjacentPartitions dealer = new AdjacentPartitions(new WorkerPlaces(List.of(GONE), 2), 0);
      PlacedPartitions rows =
          new PlacedPartitions(context.parallelize(List.<InternalRow>of(), 4).rdd(), 2, dealer);
      for (int worker = 0; worker < 2; ++worker) {
        assertEquals(GONE.place(), rows.preferredLocations(rows.partitions()[worker]).mkString(" "));
      }
      for (int worker = 0; worker < 2; ++worker) {
        assertEquals("", rows.preferredLocations(rows.partitions()[worker]).mkString(" "));
      }
    }
  }
}
