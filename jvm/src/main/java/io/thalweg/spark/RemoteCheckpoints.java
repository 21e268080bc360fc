// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.util.SerializableConfiguration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checkpoints on a file system of Hadoop's, to which the engine does not write: it writes them into a folder of the
 * worker's, from where those that are complete are copied while training goes on.
 */
final class RemoteCheckpoints implements AutoCloseable {
  /**
   * What a worker must know of them.
   *
   * @param begin the checkpoint that the fit goes on from; null: none
   */
  record Place(String folder, String begin, SerializableConfiguration configuration) implements Serializable {
    Path path() {
      return new Path(folder);
    }

    FileSystem system() throws IOException {
      return path().getFileSystem(configuration.value());
    }
  }

  private static final Logger LOG = LoggerFactory.getLogger(RemoteCheckpoints.class);
  /** As the engine calls them; the number is the step, with leading zeros. */
  private static final Pattern NAME = Pattern.compile("step-\\d{1,18}");
  private static final Pattern OTHER_SYSTEM = Pattern.compile("(?!file:)[A-Za-z][A-Za-z0-9+.-]+:/.*");
  private static final List<String> FILES = List.of("model.safetensors", "optimizer.safetensors");
  private static final long INTERVAL_SECONDS = 1;

  private final Place place;
  private final java.nio.file.Path local;
  private final Set<String> copied = new HashSet<>();
  private final ScheduledExecutorService copier =
      Executors.newSingleThreadScheduledExecutor(
          work -> {
            Thread thread = new Thread(work, "thalweg-checkpoints");
            thread.setDaemon(true);
            return thread;
          });

  /** Whether a folder is on a file system that only Hadoop knows. */
  static boolean handles(String folder) {
    return OTHER_SYSTEM.matcher(folder).matches();
  }

  /** For the driver: looks for the newest that is complete, so that all workers begin with the same. */
  static Place find(String folder, Configuration configuration) {
    try {
      Path path = new Path(folder);
      FileSystem system = path.getFileSystem(configuration);
      system.mkdirs(path);
      String newest = null;
      for (String name : names(system, path)) {
        boolean complete = true;
        for (String file : FILES) {
          complete &= system.exists(new Path(new Path(path, name), file));
        }
        newest = complete && (newest == null || step(name) > step(newest)) ? name : newest;
      }
      if (newest != null) {
        LOG.info("Thalweg goes on from the checkpoint {}/{}", folder, newest);
      }
      return new Place(folder, newest, new SerializableConfiguration(configuration));
    } catch (IOException failure) {
      throw new ThalwegException("the checkpoints in " + folder + " cannot be read: " + failure.getMessage(), failure);
    }
  }

  /** Fetches the checkpoint to begin with into {@code local}, and copies from there what is new until it is closed. */
  RemoteCheckpoints(Place place, java.nio.file.Path local) throws IOException {
    this.place = place;
    this.local = Files.createDirectories(local);
    if (place.begin() != null) {
      Path from = new Path(place.path(), place.begin());
      place.system().copyToLocalFile(false, from, new Path(local.resolve(place.begin()).toUri()), true);
      copied.add(place.begin());
    }
    copier.scheduleWithFixedDelay(this::copyNew, INTERVAL_SECONDS, INTERVAL_SECONDS, TimeUnit.SECONDS);
  }

  java.nio.file.Path local() {
    return local;
  }

  private static long step(String name) {
    return Long.parseLong(name.substring(name.indexOf('-') + 1));
  }

  private static List<String> names(FileSystem system, Path folder) throws IOException {
    List<String> names = new ArrayList<>();
    for (FileStatus entry : system.listStatus(folder)) {
      if (NAME.matcher(entry.getPath().getName()).matches()) {
        names.add(entry.getPath().getName());
      }
    }
    return names;
  }

  private Set<String> localNames() throws IOException {
    Set<String> names = new HashSet<>();
    try (Stream<java.nio.file.Path> entries = Files.list(local)) {
      entries.map(entry -> entry.getFileName().toString()).filter(name -> NAME.matcher(name).matches()).forEach(names::add);
    }
    return names;
  }

  private synchronized void copyNew() {
    try {
      Set<String> all = localNames();
      List<String> missing = new ArrayList<>(all);
      missing.removeAll(copied);
      missing.sort(Comparator.comparing(RemoteCheckpoints::step));
      for (String name : missing) {
        copy(name);
        copied.add(name);
        // The engine has removed old ones; what it keeps is kept.
        for (String old : names(place.system(), place.path())) {
          if (!all.contains(old) && step(old) < step(name)) {
            place.system().delete(new Path(place.path(), old), true);
          }
        }
      }
    } catch (IOException | RuntimeException failure) {
      // Training is worth more than a copy of it; the next one may succeed.
      LOG.warn("Thalweg cannot copy a checkpoint to {}: {}", place.folder(), failure.toString());
    }
  }

  /** Under another name first, so that what has the right name is complete. */
  private void copy(String name) throws IOException {
    FileSystem system = place.system();
    Path part = new Path(place.path(), "." + name + "-" + UUID.randomUUID() + ".part");
    Path target = new Path(place.path(), name);
    try {
      system.copyFromLocalFile(false, true, new Path(local.resolve(name).toUri()), part);
      system.delete(target, true);
      if (!system.rename(part, target)) {
        throw new IOException(part + " cannot be renamed to " + target);
      }
    } finally {
      system.delete(part, true);
    }
  }

  /** With what has been written last. */
  @Override
  public void close() {
    copier.shutdown();
    copyNew();
  }
}
