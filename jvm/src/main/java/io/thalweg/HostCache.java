// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;

/**
 * A folder on this host that all processes of a user share: native libraries and models, each under the hash of its
 * content. Files come into being whole, and only one process writes an entry at a time.
 */
public final class HostCache {
  /** For messages. */
  public static final String HOW_TO_CHOOSE =
      "the Java property thalweg.cache (spark.executor.extraJavaOptions, spark.driver.extraJavaOptions) or the environment"
          + " variable THALWEG_CACHE";

  private static final long PATIENCE_MILLISECONDS = 120_000;

  /** Writes one file of an entry. */
  @FunctionalInterface
  public interface FileWriter {
    void write(String file, Path target) throws IOException;
  }

  private final Path root;

  /** Makes the folder if it is missing. */
  public HostCache(Path root) throws IOException {
    this.root = root.toAbsolutePath();
    makePrivate(this.root);
  }

  /**
   * The one that the property thalweg.cache or the variable THALWEG_CACHE names, else the user's (XDG_CACHE_HOME, else
   * .cache in the home folder), or, where that cannot be written, as on cluster nodes, one in java.io.tmpdir.
   */
  public static HostCache standard() throws IOException {
    String chosen = System.getProperty("thalweg.cache", System.getenv("THALWEG_CACHE"));
    if (chosen != null && !chosen.isEmpty()) {
      return new HostCache(Path.of(chosen));
    }
    String user = System.getenv("XDG_CACHE_HOME");
    Path base = user != null && !user.isEmpty() ? Path.of(user) : Path.of(System.getProperty("user.home"), ".cache");
    try {
      return new HostCache(base.resolve("thalweg"));
    } catch (IOException unwritable) {
      Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
      return new HostCache(temporary.resolve("thalweg-" + System.getProperty("user.name")));
    }
  }

  public Path root() {
    return root;
  }

  /**
   * A folder of this name with exactly these files (name and SHA-256 of each). What is missing or differs is written
   * anew; files that processes have mapped are replaced, not changed.
   */
  public Path folder(String name, Map<String, String> hashes, FileWriter writer) throws IOException {
    Path folder = root.resolve(name);
    try (Locked ignored = lock(name)) {
      Files.createDirectories(folder);
      for (Map.Entry<String, String> entry : hashes.entrySet()) {
        Path file = folder.resolve(entry.getKey());
        if (!Files.isRegularFile(file) || !sha256(file).equals(entry.getValue())) {
          replace(file, entry.getKey(), entry.getValue(), writer);
        }
      }
    }
    return folder;
  }

  private static void replace(Path file, String name, String hash, FileWriter writer) throws IOException {
    Path part = file.resolveSibling(name + ".part-" + ProcessHandle.current().pid());
    try {
      writer.write(name, part);
      String written = sha256(part);
      if (!written.equals(hash)) {
        throw new IOException(part + " has the SHA-256 " + written + " after it was written, not " + hash);
      }
      Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(part);
    }
  }

  /** Held by one thread of one process of this host. */
  private record Locked(FileChannel channel, FileLock lock) implements AutoCloseable {
    @Override
    public void close() throws IOException {
      lock.release();
      channel.close();
    }
  }

  private Locked lock(String name) throws IOException {
    Path file = root.resolve(name + ".lock");
    FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    long end = System.nanoTime() + PATIENCE_MILLISECONDS * 1_000_000;
    try {
      while (true) {
        FileLock lock = tryLock(channel);
        if (lock != null) {
          return new Locked(channel, lock);
        }
        if (System.nanoTime() > end) {
          throw new IOException(file + " was held by another process for " + PATIENCE_MILLISECONDS / 1000 + " s");
        }
        Thread.sleep(20);
      }
    } catch (IOException | InterruptedException failure) {
      channel.close();
      if (failure instanceof IOException) {
        throw (IOException) failure;
      }
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while waiting for " + file, failure);
    }
  }

  private static FileLock tryLock(FileChannel channel) throws IOException {
    try {
      return channel.tryLock();
    } catch (OverlappingFileLockException heldInThisJvm) {
      return null;
    }
  }

  /** Nobody else may write where libraries are loaded from: a folder in /tmp has a name that others can guess. */
  private static void makePrivate(Path folder) throws IOException {
    if (folder.getParent() != null) {
      Files.createDirectories(folder.getParent());
    }
    Set<PosixFilePermission> mine = PosixFilePermissions.fromString("rwx------");
    try {
      Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(mine));
      return;
    } catch (FileAlreadyExistsException exists) {
      if (!Files.isWritable(folder)) {
        throw new IOException(folder + " cannot be written; choose another folder with " + HOW_TO_CHOOSE);
      }
    }
    if (Files.getPosixFilePermissions(folder).contains(PosixFilePermission.OTHERS_WRITE)) {
      throw new IOException(
          folder + " can be written by everybody, and libraries are loaded from it; choose another folder with "
              + HOW_TO_CHOOSE);
    }
  }

  public static String sha256(byte[] bytes) {
    return HexFormat.of().formatHex(digest().digest(bytes));
  }

  public static String sha256(Path file) throws IOException {
    MessageDigest digest = digest();
    try (InputStream stream = Files.newInputStream(file)) {
      byte[] buffer = new byte[1 << 20];
      for (int count = stream.read(buffer); count >= 0; count = stream.read(buffer)) {
        digest.update(buffer, 0, count);
      }
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  static MessageDigest digest() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java has SHA-256", impossible);
    }
  }
}
