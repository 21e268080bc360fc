// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import io.thalweg.ProcessLock.Mode;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A folder on this host that all processes of a user share: native libraries and models, each under the hash of its
 * content. Files come into being whole, and only one process writes an entry at a time. What nobody uses is deleted after
 * a week, or earlier, the longest unused first, when all entries together exceed a budget.
 */
public final class HostCache {
  /** For messages. */
  public static final String HOW_TO_CHOOSE =
      "the Java property thalweg.cache (spark.executor.extraJavaOptions, spark.driver.extraJavaOptions) or the environment"
          + " variable THALWEG_CACHE";

  private static final Logger LOG = LoggerFactory.getLogger(HostCache.class);
  private static final long USUAL_BUDGET_BYTES = 10L << 30;
  private static final int ROOT = 0;
  private static final Path THIS_PROCESS = Path.of("/proc/self");
  /** Shared by those who are about to use entries; whoever has it alone may delete some. */
  private static final String GATE = "cache.lock";

  /** Writes one file of an entry, and gives the SHA-256 of what it wrote. */
  @FunctionalInterface
  public interface FileWriter {
    String write(String file, Path target) throws IOException;
  }

  /** Of a file. */
  @FunctionalInterface
  public interface Content {
    void writeTo(OutputStream stream) throws IOException;
  }

  private final Path root;
  private final long budgetBytes;

  /** Makes the folder if it is missing. Beyond the budget, entries that nobody uses are deleted. */
  public HostCache(Path root, long budgetBytes) throws IOException {
    this.root = root.toAbsolutePath();
    this.budgetBytes = budgetBytes;
    makePrivate(this.root);
  }

  /**
   * The one that the property thalweg.cache or the variable THALWEG_CACHE names, else the user's (XDG_CACHE_HOME, else
   * .cache in the home folder), or, where that cannot be written, as on cluster nodes, one in java.io.tmpdir. Its budget is
   * the property thalweg.cache.bytes.
   */
  public static HostCache standard() throws IOException {
    String chosen = System.getProperty("thalweg.cache", System.getenv("THALWEG_CACHE"));
    long budget = Long.getLong("thalweg.cache.bytes", USUAL_BUDGET_BYTES);
    if (chosen != null && !chosen.isEmpty()) {
      return new HostCache(Path.of(chosen), budget);
    }
    String user = System.getenv("XDG_CACHE_HOME");
    Path base = user != null && !user.isEmpty() ? Path.of(user) : Path.of(System.getProperty("user.home"), ".cache");
    try {
      return new HostCache(base.resolve("thalweg"), budget);
    } catch (IOException unwritable) {
      Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
      return new HostCache(temporary.resolve("thalweg-" + System.getProperty("user.name")), budget);
    }
  }

  public Path root() {
    return root;
  }

  /**
   * A folder of this name (a word, a hyphen, a hash) with exactly these files (name and SHA-256 of each). What is missing
   * or differs is written anew; files that processes have mapped are replaced, not changed. When something was written,
   * folders that nobody uses make room.
   */
  public CachedFolder use(String name, Map<String, String> hashes, FileWriter writer) throws IOException {
    if (!CacheEviction.ENTRY.matcher(name).matches()) {
      throw new IllegalArgumentException("'" + name + "' is no name of an entry of the cache");
    }
    Path folder = root.resolve(name);
    CachedFolder used;
    boolean written;
    try (ProcessLock gate = ProcessLock.acquire(root.resolve(GATE), Mode.SHARED)) {
      written = write(folder, hashes, writer);
      used = new CachedFolder(folder, ProcessLock.acquire(CacheEviction.beside(folder, CacheEviction.USE), Mode.SHARED));
      // Not the time of the locked file: to set that, Java opens and closes it, with which the lock is gone.
      Files.setLastModifiedTime(folder, FileTime.from(Instant.now()));
    }
    if (written) {
      evict(Instant.now());
    }
    return used;
  }

  /** A new file for what is to become part of the cache; whoever asks for it deletes it. */
  public Path newFile(String suffix) throws IOException {
    return Files.createTempFile(root, CacheEviction.INCOMING, suffix);
  }

  /** Whether something was missing. */
  private static boolean write(Path folder, Map<String, String> hashes, FileWriter writer) throws IOException {
    boolean written = false;
    try (ProcessLock writing = ProcessLock.acquire(CacheEviction.beside(folder, CacheEviction.LOCK), Mode.EXCLUSIVE)) {
      Files.createDirectories(folder);
      for (Map.Entry<String, String> entry : hashes.entrySet()) {
        Path file = folder.resolve(entry.getKey());
        if (!Files.isRegularFile(file) || !sha256(file).equals(entry.getValue())) {
          replace(file, entry.getKey(), entry.getValue(), writer);
          written = true;
        }
      }
    }
    return written;
  }

  /** Does nothing while others are about to use the cache: they will do it. */
  void evict(Instant now) {
    try (ProcessLock gate = ProcessLock.tryAcquire(root.resolve(GATE), Mode.EXCLUSIVE)) {
      if (gate != null) {
        new CacheEviction(root, budgetBytes, now).run();
      }
    } catch (IOException failure) {
      LOG.warn("the cache {} cannot be tidied: {}", root, failure.toString());
    }
  }

  private static void replace(Path file, String name, String hash, FileWriter writer) throws IOException {
    Path part = file.resolveSibling(name + ".part-" + ProcessHandle.current().pid());
    try {
      String written = writer.write(name, part);
      if (!written.equals(hash)) {
        throw new IOException(part + " was written with the SHA-256 " + written + ", not " + hash);
      }
      Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(part);
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
    checkOwner(folder);
  }

  /** Of a folder that somebody may have made first. What root owns is as safe as the system. */
  private static void checkOwner(Path folder) throws IOException {
    int owner = userOf(folder);
    if (owner != ROOT && owner != userOf(THIS_PROCESS)) {
      throw new IOException(
          folder + " belongs to " + Files.getOwner(folder).getName()
              + ", and libraries are loaded from it; choose another folder with " + HOW_TO_CHOOSE);
    }
  }

  private static int userOf(Path path) throws IOException {
    return (int) Files.getAttribute(path, "unix:uid");
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

  /** Writes a file. Gives the SHA-256 of its content. */
  public static String write(Path target, Content content) throws IOException {
    MessageDigest digest = digest();
    try (OutputStream stream = new DigestOutputStream(Files.newOutputStream(target), digest)) {
      content.writeTo(stream);
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
