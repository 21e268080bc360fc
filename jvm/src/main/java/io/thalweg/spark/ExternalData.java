// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;

/**
 * Finds out whether an ONNX file has weights in another one. Only that is read here, from the file's protocol buffers:
 * the engine would look for the other file in the cache, where it is not.
 */
final class ExternalData {
  /** The messages of ONNX that lead to tensors. */
  private enum Message {
    MODEL,
    GRAPH,
    NODE,
    ATTRIBUTE,
    SPARSE_TENSOR,
    TENSOR,
    ENTRY
  }

  /** A file that is none of ONNX. */
  private static final class Malformed extends Exception {
    private static final long serialVersionUID = 1L;
  }

  private static final Map<Message, Map<Integer, Message>> PARTS = new EnumMap<>(Map.of(
      Message.MODEL, Map.of(7, Message.GRAPH),
      Message.GRAPH, Map.of(1, Message.NODE, 5, Message.TENSOR, 15, Message.SPARSE_TENSOR),
      Message.NODE, Map.of(5, Message.ATTRIBUTE),
      Message.ATTRIBUTE, Map.of(5, Message.TENSOR, 6, Message.GRAPH, 10, Message.TENSOR, 11, Message.GRAPH),
      Message.SPARSE_TENSOR, Map.of(1, Message.TENSOR, 2, Message.TENSOR),
      Message.TENSOR, Map.of(13, Message.ENTRY),
      Message.ENTRY, Map.of()));
  private static final int KEY = 1;
  private static final int VALUE = 2;
  private static final int DEEPEST = 64;

  private ExternalData() {}

  /** The name of the other file; none if there is none, or if this is no ONNX file. */
  static Optional<String> in(Path model) throws IOException {
    try (FileChannel channel = FileChannel.open(model)) {
      if (channel.size() > Integer.MAX_VALUE) {
        return Optional.empty(); // protocol buffers end there
      }
      return find(channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size()), Message.MODEL, 0);
    } catch (Malformed | BufferUnderflowException | IllegalArgumentException noOnnx) {
      return Optional.empty();
    }
  }

  private static Optional<String> find(ByteBuffer bytes, Message message, int depth) throws Malformed {
    if (depth > DEEPEST) {
      throw new Malformed();
    }
    String key = "";
    String value = "";
    while (bytes.hasRemaining()) {
      long tag = number(bytes);
      int field = (int) (tag >>> 3);
      if (field == 0) {
        throw new Malformed();
      }
      ByteBuffer content = content(bytes, (int) tag & 7);
      Message part = PARTS.get(message).get(field);
      Optional<String> found = part == null ? Optional.empty() : find(content, part, depth + 1);
      if (found.isPresent()) {
        return found;
      }
      if (message == Message.ENTRY && field == KEY) {
        key = StandardCharsets.UTF_8.decode(content).toString();
      } else if (message == Message.ENTRY && field == VALUE) {
        value = StandardCharsets.UTF_8.decode(content).toString();
      }
    }
    return key.equals("location") ? Optional.of(value) : Optional.empty();
  }

  /** Moves behind a field, whose bytes it gives; those of numbers are nobody's concern. */
  private static ByteBuffer content(ByteBuffer bytes, int wireType) throws Malformed {
    long length = switch (wireType) {
      case 0 -> {
        number(bytes);
        yield 0;
      }
      case 1 -> Long.BYTES;
      case 2 -> number(bytes);
      case 5 -> Integer.BYTES;
      default -> throw new Malformed();
    };
    if (length < 0 || length > bytes.remaining()) {
      throw new Malformed();
    }
    ByteBuffer content = bytes.slice(bytes.position(), (int) length);
    bytes.position(bytes.position() + (int) length);
    return content;
  }

  private static long number(ByteBuffer bytes) {
    long value = 0;
    for (int shift = 0; shift < Long.SIZE; shift += 7) {
      byte next = bytes.get();
      value |= (long) (next & 0x7F) << shift;
      if (next >= 0) {
        break;
      }
    }
    return value;
  }
}
