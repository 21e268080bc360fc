// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.thalweg.jni.NativePreparation;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** From columns of rows to the inputs of a model, as its file says: lines of text, and tables with features. Used by one thread. */
public final class Preparation implements AutoCloseable {
  /** What a column holds; the numbers are those of tw_dtype. */
  public enum Kind {
    FRACTIONS(1),
    WHOLE(7),
    TEXTS(23);

    private final int number;

    Kind(int number) {
      this.number = number;
    }

    int number() {
      return number;
    }
  }

  /**
   * What a row must have.
   *
   * @param text whether that is one text; then {@code columns} is empty
   * @param imputed those of the columns that may lack values
   */
  public record Needs(boolean text, List<String> columns, List<String> imputed) {}

  /**
   * Some rows of a column.
   *
   * @param values a direct buffer of 8-byte numbers, or of the bytes of all texts
   * @param offsets of texts: a direct buffer of where each begins and the last ends; else null
   * @param missing a direct buffer with a byte for each row, not 0 if it has no value; null: all have one
   */
  public record Values(String name, Kind kind, ByteBuffer values, ByteBuffer offsets, ByteBuffer missing) {}

  private long handle;

  /**
   * @param description as {@link Model#description} or {@link Training#describeModel} gives it
   * @param columns JSON, the names of columns for each input; null: those that the description says
   */
  public Preparation(String description, String columns) {
    handle = NativePreparation.create(description, columns);
  }

  public Needs needs() {
    String json = NativePreparation.needs(open());
    try {
      JsonNode needs = new ObjectMapper().readTree(json);
      return new Needs(needs.get("kind").asText().equals("text"), names(needs, "columns"), names(needs, "imputed"));
    } catch (JsonProcessingException problem) {
      throw new ThalwegException("what rows a model needs cannot be read: " + json, problem);
    }
  }

  private static List<String> names(JsonNode needs, String key) {
    List<String> names = new ArrayList<>();
    needs.get(key).forEach(name -> names.add(name.asText()));
    return names;
  }

  /** The inputs of the model with {@code filled} rows: those beyond {@code rows} are copies of the last. To be closed. */
  public Result run(List<Values> columns, long rows, long filled) {
    RawArrays arrays = new RawArrays(columns);
    return new Result(
        NativePreparation.run(
            open(), arrays.names, arrays.dtypes, arrays.values, arrays.offsets, arrays.missing, rows, filled));
  }

  @Override
  public void close() {
    long old = handle;
    handle = 0;
    NativePreparation.free(old);
  }

  private long open() {
    if (handle == 0) {
      throw new ThalwegException("the preparation is closed");
    }
    return handle;
  }
}
