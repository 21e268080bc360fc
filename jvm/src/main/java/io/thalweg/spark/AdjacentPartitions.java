// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.Partition;
import org.apache.spark.rdd.PartitionCoalescer;
import org.apache.spark.rdd.PartitionGroup;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.TaskLocation;
import scala.Option;
import scala.collection.Iterator;

/**
 * Deals partitions out to tasks in adjacent runs of nearly equal number. Spark's own way looks at where the data lies at
 * the moment, so that the same fit would see its rows in another order each time; here that only decides where a task
 * runs.
 */
final class AdjacentPartitions implements PartitionCoalescer, java.io.Serializable {
  private static final long serialVersionUID = 1L;

  @Override
  public PartitionGroup[] coalesce(int most, RDD<?> parent) {
    Partition[] all = parent.partitions();
    PartitionGroup[] groups = new PartitionGroup[Math.min(most, all.length)];
    for (int i = 0; i < groups.length; ++i) {
      int begin = (int) ((long) all.length * i / groups.length);
      int end = (int) ((long) all.length * (i + 1) / groups.length);
      groups[i] = new PartitionGroup(Option.apply(commonPlace(parent, begin, end)));
      for (int p = begin; p < end; ++p) {
        groups[i].partitions().$plus$eq(all[p]); // append takes other arguments in Scala 2.12
      }
    }
    return groups;
  }

  /** The place that most of these partitions prefer; null if none prefers any. */
  private static String commonPlace(RDD<?> parent, int begin, int end) {
    Map<String, Integer> votes = new HashMap<>();
    for (int p = begin; p < end; ++p) {
      // Of the parent and of what that is made of.
      Iterator<TaskLocation> places = parent.sparkContext().getPreferredLocs(parent, p).iterator();
      while (places.hasNext()) {
        votes.merge(places.next().toString(), 1, Integer::sum);
      }
    }
    return votes.entrySet().stream().max(Comparator.comparing(Map.Entry::getValue)).map(Map.Entry::getKey).orElse(null);
  }
}
