// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.jni;

import io.thalweg.CachedFolder;
import io.thalweg.HostCache;
import io.thalweg.ThalwegException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * Brings the engine into this JVM: unpacks the libraries in the jar into the host's cache, once for all processes, and
 * loads them. Files there are compared with the hashes in the jar each time; a damaged one is replaced.
 */
public final class NativeLibrary {
  private static final String RESOURCES = "/io/thalweg/native/";
  private static final String ENGINE = "libthalweg_jni.so";
  /** In use as long as this process lives. */
  private static CachedFolder libraries;

  private NativeLibrary() {}

  /** Does nothing if it is done already. */
  public static synchronized void load() {
    if (libraries != null) {
      return;
    }
    try {
      CachedFolder unpacked = unpack(HostCache.standard());
      loadFrom(unpacked.path());
      libraries = unpacked;
    } catch (IOException failure) {
      throw new ThalwegException("the native libraries cannot be unpacked: " + failure, failure);
    }
  }

  /** Unpacks the libraries for this platform and gives the folder that holds them. */
  static CachedFolder unpack(HostCache cache) throws IOException {
    String resources = RESOURCES + platform(System.getProperty("os.name"), System.getProperty("os.arch")) + "/";
    byte[] manifest = read(resources + "manifest.txt");
    Map<String, String> hashes = parse(new String(manifest, StandardCharsets.UTF_8));
    String name = "native-" + HostCache.sha256(manifest).substring(0, 16);
    return cache.use(
        name,
        hashes,
        (file, target) -> {
          try (InputStream stream = open(resources + file)) {
            return HostCache.write(target, stream::transferTo);
          }
        });
  }

  /** As the folders in the jar are called. */
  static String platform(String system, String processor) {
    String arch = processor.toLowerCase(Locale.ROOT);
    if (!system.equals("Linux") || !(arch.equals("amd64") || arch.equals("x86_64"))) {
      throw new ThalwegException(
          "Thalweg runs on Linux with x86-64 processors; this is " + system + " on " + processor);
    }
    return "linux-x86_64";
  }

  private static void loadFrom(Path folder) {
    Path library = folder.resolve(ENGINE);
    try {
      System.load(library.toString());
    } catch (UnsatisfiedLinkError failure) {
      throw new ThalwegException(explain(library, String.valueOf(failure.getMessage())), failure);
    }
  }

  static String explain(Path library, String reason) {
    String text = library + " cannot be loaded: " + reason;
    if (reason.contains("failed to map segment") || reason.contains("Operation not permitted")) {
      text += "; the folder's file system seems to be mounted noexec: choose another with " + HostCache.HOW_TO_CHOOSE;
    } else if (reason.contains("GLIBC")) {
      text += "; this system's C library is too old, glibc 2.34 or newer is needed";
    }
    return text;
  }

  private static Map<String, String> parse(String manifest) {
    Map<String, String> hashes = new LinkedHashMap<>();
    for (String line : manifest.split("\n")) {
      String[] parts = line.split("  ", 2);
      if (parts.length != 2) {
        throw new ThalwegException("the jar's list of native libraries has a line that is none: " + line);
      }
      hashes.put(parts[1], parts[0]);
    }
    return hashes;
  }

  private static byte[] read(String resource) throws IOException {
    try (InputStream stream = open(resource)) {
      return stream.readAllBytes();
    }
  }

  private static InputStream open(String resource) {
    InputStream stream = NativeLibrary.class.getResourceAsStream(resource);
    if (stream == null) {
      throw new ThalwegException("the jar has no " + resource + ": it was built without native libraries (make jar)");
    }
    return stream;
  }
}
