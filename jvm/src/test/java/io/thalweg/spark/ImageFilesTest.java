// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ImageFilesTest {
  @Test
  void partsHaveAboutAsManyBytes() {
    Random random = new Random(1);
    List<ImageFiles.Entry> files = new ArrayList<>();
    for (int i = 0; i < 1000; ++i) {
      files.add(new ImageFiles.Entry("file" + i, 0, (long) (1e5 * Math.exp(random.nextGaussian()))));
    }
    List<List<ImageFiles.Entry>> parts = ImageFiles.deal(files, 8);
    LongSummaryStatistics sizes =
        parts.stream().mapToLong(part -> part.stream().mapToLong(file -> file.length() + (64 << 10)).sum()).summaryStatistics();
    assertEquals(8, parts.size());
    assertEquals(1000, parts.stream().mapToInt(List::size).sum());
    assertTrue(sizes.getMax() < 1.02 * sizes.getMin(), sizes.toString());
  }
}
