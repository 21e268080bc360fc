// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import java.io.IOException;
import java.io.InputStream;
import java.io.Serializable;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.PriorityQueue;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Image files as a DataFrame with the columns of Spark's source binaryFile, dealt out to partitions by their bytes: each
 * partition takes about as long, whether there are three files or millions.
 */
public final class ImageFiles {
  private static final Set<String> ENDINGS = Set.of("jpg", "jpeg", "png", "gif", "bmp");
  /** So that cores which are done early find something to do. */
  private static final int PARTITIONS_PER_CORE = 4;
  /** More than a file's header, less than a photograph: opening a file costs about as much as reading these. */
  private static final long BYTES_TO_OPEN = 64 << 10;

  private static final StructType SCHEMA =
      new StructType()
          .add("path", DataTypes.StringType, false)
          .add("modificationTime", DataTypes.TimestampType, false)
          .add("length", DataTypes.LongType, false)
          .add("content", DataTypes.BinaryType, true);

  /** A file as the driver found it. */
  record Entry(String path, long modified, long length) implements Serializable {}

  private ImageFiles() {}

  /**
   * @param path a file, a folder, or a pattern of them; folders are read with all that lies below
   * @param partitions 0: by the number of cores
   */
  public static Dataset<Row> read(SparkSession session, String path, int partitions) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
    List<Entry> files = list(path, context.hadoopConfiguration());
    if (files.isEmpty()) {
      throw new ThalwegException(path + " holds no images (" + String.join(", ", ENDINGS) + ")");
    }
    int wanted = partitions > 0 ? partitions : context.defaultParallelism() * PARTITIONS_PER_CORE;
    List<List<Entry>> parts = deal(files, Math.min(wanted, files.size()));
    Broadcast<SerializableConfiguration> configuration =
        context.broadcast(new SerializableConfiguration(context.hadoopConfiguration()));
    JavaRDD<Row> rows =
        context
            .parallelize(parts, parts.size())
            .flatMap(part -> part.iterator())
            .map(file -> read(file, configuration.value().value()));
    return session.createDataFrame(rows, SCHEMA);
  }

  private static List<Entry> list(String path, Configuration configuration) {
    List<Entry> files = new ArrayList<>();
    try {
      Path pattern = new Path(path);
      FileSystem system = pattern.getFileSystem(configuration);
      FileStatus[] roots = system.globStatus(pattern);
      if (roots == null || roots.length == 0) {
        throw new ThalwegException("there is no " + path);
      }
      for (FileStatus root : roots) {
        RemoteIterator<LocatedFileStatus> below = system.listFiles(root.getPath(), true);
        while (below.hasNext()) {
          FileStatus file = below.next();
          if (isImage(file.getPath().getName())) {
            files.add(new Entry(file.getPath().toString(), file.getModificationTime(), file.getLen()));
          }
        }
      }
    } catch (IOException failure) {
      throw new ThalwegException(path + " cannot be listed: " + failure.getMessage(), failure);
    }
    return files;
  }

  private static boolean isImage(String name) {
    return ENDINGS.contains(name.substring(name.lastIndexOf('.') + 1).toLowerCase(Locale.ROOT));
  }

  /** The largest files first, each to the part that has least so far: no part then has much more than another. */
  static List<List<Entry>> deal(List<Entry> files, int count) {
    List<List<Entry>> parts = new ArrayList<>();
    PriorityQueue<long[]> least = new PriorityQueue<>(Comparator.comparingLong(part -> part[0]));
    for (int i = 0; i < count; ++i) {
      parts.add(new ArrayList<>());
      least.add(new long[] {0, i});
    }
    List<Entry> sorted = new ArrayList<>(files);
    sorted.sort(Comparator.comparingLong(Entry::length).reversed().thenComparing(Entry::path));
    for (Entry file : sorted) {
      long[] part = least.remove();
      parts.get((int) part[1]).add(file);
      part[0] += file.length() + BYTES_TO_OPEN;
      least.add(part);
    }
    return parts;
  }

  private static Row read(Entry file, Configuration configuration) throws IOException {
    Path path = new Path(file.path());
    try (InputStream stream = path.getFileSystem(configuration).open(path)) {
      return RowFactory.create(file.path(), new Timestamp(file.modified()), file.length(), stream.readAllBytes());
    }
  }
}
