// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CacheEvictionTest {
  private static final byte[] CONTENT = new byte[100];
  private static final String FIRST = "entry-1111111111111111";
  private static final String SECOND = "entry-2222222222222222";
  private static final String THIRD = "entry-3333333333333333";

  @TempDir Path directory;

  /** Another process that uses an entry until its input ends. */
  static final class Holder {
    public static void main(String[] arguments) throws IOException {
      try (CachedFolder used = put(new HostCache(Path.of(arguments[0]), Long.MAX_VALUE), arguments[1])) {
        System.out.println(used.path());
        System.in.read();
      }
    }
  }

  private static CachedFolder put(HostCache cache, String name) throws IOException {
    return cache.use(name, Map.of("file", HostCache.sha256(CONTENT)), (file, target) -> HostCache.write(target, stream -> stream.write(CONTENT)));
  }

  private static void putAndLeave(HostCache cache, String name, int minutesAgo) throws IOException {
    put(cache, name).close();
    Files.setLastModifiedTime(
        cache.root().resolve(name), FileTime.from(Instant.now().minus(Duration.ofMinutes(minutesAgo))));
  }

  private static TreeSet<String> folders(HostCache cache) throws IOException {
    try (Stream<Path> files = Files.list(cache.root())) {
      return files.filter(Files::isDirectory).map(file -> file.getFileName().toString())
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }

  @Test
  void whatWasUsedLongestAgoMakesRoom() throws IOException {
    HostCache cache = new HostCache(directory, 250);
    putAndLeave(cache, FIRST, 10);
    putAndLeave(cache, SECOND, 20);
    putAndLeave(cache, THIRD, 0);
    assertEquals(List.of(FIRST, THIRD), List.copyOf(folders(cache)));
    assertFalse(Files.exists(cache.root().resolve(SECOND + ".use")));
    assertFalse(Files.exists(cache.root().resolve(SECOND + ".lock")));
  }

  @Test
  void whatIsInUseStays() throws IOException {
    HostCache cache = new HostCache(directory, 0);
    try (CachedFolder used = put(cache, FIRST)) {
      put(cache, SECOND).close();
      assertTrue(Files.exists(used.path().resolve("file")));
      put(cache, THIRD).close();
      assertEquals(List.of(FIRST, THIRD), List.copyOf(folders(cache)));
    }
    put(cache, SECOND).close();
    assertEquals(List.of(SECOND), List.copyOf(folders(cache)));
  }

  @Test
  void whatAnotherProcessUsesStays() throws IOException, InterruptedException {
    HostCache cache = new HostCache(directory, 0);
    String java = ProcessHandle.current().info().command().orElseThrow();
    Process holder =
        new ProcessBuilder(
                java, "-cp", System.getProperty("java.class.path"), Holder.class.getName(), directory.toString(), FIRST)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try {
      assertEquals(cache.root().resolve(FIRST).toString(), holder.inputReader().readLine());
      put(cache, SECOND).close();
      assertTrue(folders(cache).contains(FIRST));
    } finally {
      holder.destroyForcibly();
    }
    assertTrue(holder.waitFor(20, TimeUnit.SECONDS));
    put(cache, THIRD).close();
    assertEquals(List.of(THIRD), List.copyOf(folders(cache)));
  }

  @Test
  void whatIsOldGoesAndNothingElse() throws IOException {
    HostCache cache = new HostCache(directory, Long.MAX_VALUE);
    putAndLeave(cache, FIRST, 0);
    Path unfinished = cache.newFile(".onnx");
    Path others = Files.createDirectory(cache.root().resolve("arrow-26.0.1"));
    cache.evict(Instant.now().plus(Duration.ofHours(23)));
    assertTrue(Files.exists(unfinished));
    cache.evict(Instant.now().plus(Duration.ofHours(25)));
    assertFalse(Files.exists(unfinished));
    assertTrue(folders(cache).contains(FIRST));
    cache.evict(Instant.now().plus(Duration.ofDays(8)));
    assertEquals(List.of(others.getFileName().toString()), List.copyOf(folders(cache)));
  }
}
