// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.jni;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalweg.HostCache;
import io.thalweg.ThalwegException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NativeLibraryTest {
  @TempDir Path directory;

  @Test
  void unpacksTheLibrariesAndMendsThem() throws IOException {
    HostCache cache = new HostCache(directory.resolve("cache"), Long.MAX_VALUE);
    Path library = NativeLibrary.unpack(cache).path().resolve("libthalweg_jni.so");
    long size = Files.size(library);
    Files.write(library, new byte[] {1, 2, 3});
    NativeLibrary.unpack(cache);
    assertEquals(size, Files.size(library));
  }

  @Test
  void loads() {
    assertFalse(NativeModel.version().isEmpty());
    assertTrue(NativeModel.system().contains("\"features\""));
  }

  @Test
  void refusesOtherPlatforms() {
    assertEquals("linux-x86_64", NativeLibrary.platform("Linux", "amd64"));
    ThalwegException failure =
        assertThrows(ThalwegException.class, () -> NativeLibrary.platform("Mac OS X", "aarch64"));
    assertTrue(failure.getMessage().contains("Mac OS X on aarch64"), failure.getMessage());
  }

  @Test
  void explainsWhyALibraryCannotBeLoaded() {
    Path library = Path.of("a.so");
    assertTrue(NativeLibrary.explain(library, "failed to map segment from shared object").contains("noexec"));
    assertTrue(NativeLibrary.explain(library, "version `GLIBC_2.34' not found").contains("too old"));
  }
}
