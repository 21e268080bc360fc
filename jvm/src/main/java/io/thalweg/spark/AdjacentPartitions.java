// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
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
 * runs. Some partitions, the last ones, may go to every task.
 */
final class AdjacentPartitions implements PartitionCoalescer, java.io.Serializable {
  private static final long serialVersionUID = 1L;

  /** Of use to the driver alone. */
  private final transient WorkerPlaces places;

  private final int ofAll;

  /** The last {@code ofAll} partitions go to every task. */
  AdjacentPartitions(WorkerPlaces places, int ofAll) {
    this.places = places;
    this.ofAll = ofAll;
  }

  @Override
  public PartitionGroup[] coalesce(int most, RDD<?> parent) {
    Partition[] all = parent.partitions();
    int dealt = all.length - ofAll;
    int count = Math.min(most, dealt);
    int[] begins = new int[count + 1];
    List<Map<String, Integer>> votes = new ArrayList<>();
    for (int i = 0; i <= count; ++i) {
      begins[i] = (int) ((long) dealt * i / count);
      if (i > 0) {
        votes.add(votes(parent, begins[i - 1], begins[i]));
      }
    }
    String[] chosen = places.assign(votes);
    PartitionGroup[] groups = new PartitionGroup[count];
    for (int i = 0; i < count; ++i) {
      groups[i] = new PartitionGroup(Option.apply(chosen[i]));
      for (int p = begins[i]; p < begins[i + 1]; ++p) {
        groups[i].partitions().$plus$eq(all[p]); // append takes other arguments in Scala 2.12
      }
      for (int p = dealt; p < all.length; ++p) {
        groups[i].partitions().$plus$eq(all[p]);
      }
    }
    return groups;
  }

  /** How many of these partitions prefer which place, caches and files of inputs further up included. */
  private static Map<String, Integer> votes(RDD<?> parent, int begin, int end) {
    Map<String, Integer> votes = new HashMap<>();
    for (int p = begin; p < end; ++p) {
      Iterator<TaskLocation> preferred = parent.sparkContext().getPreferredLocs(parent, p).iterator();
      while (preferred.hasNext()) {
        votes.merge(preferred.next().toString(), 1, Integer::sum);
      }
    }
    return votes;
  }
}
