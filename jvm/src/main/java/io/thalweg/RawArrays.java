// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import java.nio.ByteBuffer;
import java.util.List;

/** Columns of rows as native methods take them: an array for each thing that is known of a column. */
final class RawArrays {
  final String[] names;
  final int[] dtypes;
  final ByteBuffer[] values;
  final ByteBuffer[] offsets;
  final ByteBuffer[] missing;

  RawArrays(List<Preparation.Values> columns) {
    int count = columns.size();
    names = new String[count];
    dtypes = new int[count];
    values = new ByteBuffer[count];
    offsets = new ByteBuffer[count];
    missing = new ByteBuffer[count];
    for (int i = 0; i < count; ++i) {
      Preparation.Values column = columns.get(i);
      names[i] = column.name();
      dtypes[i] = column.kind().number();
      values[i] = column.values();
      offsets[i] = column.offsets();
      missing[i] = column.missing();
    }
  }
}
