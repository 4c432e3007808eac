"""The Java that is the same in every compiled class: how it is called, and how it reads the values of a row."""

from typing import Final

PACKAGE: Final = "eos"
METHOD: Final = "judge"

CLASS: Final = """\
package {package};

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

public final class {name} {{
{constants}
  public static InternalRow {method}(ArrayData integers, InternalRow beside) {{
    Row row = new Row(integers, beside);
    Object[] results = new Object[{results}];
    Which which = new Which(row);
{calls}
    return new GenericInternalRow(results);
  }}

  static final class Row {{
    final ArrayData integers;
    final InternalRow beside;

    Row(ArrayData integers, InternalRow beside) {{
      this.integers = integers;
      this.beside = beside;
    }}

    long number(int at, long absent) {{
      return integers.isNullAt(at) ? absent : integers.getLong(at);
    }}

    boolean beyond(int[] positions, long widest) {{
      for (int at : positions) {{
        if (!integers.isNullAt(at) && (integers.getLong(at) > widest || integers.getLong(at) < -widest)) return true;
      }}
      return false;
    }}

    UTF8String text(int at, UTF8String absent) {{
      return beside.isNullAt(at) ? absent : beside.getUTF8String(at);
    }}

    long element(int array, int at, long absent) {{
      if (beside.isNullAt(array)) return absent;
      ArrayData elements = beside.getArray(array);
      return at >= elements.numElements() || elements.isNullAt(at) ? absent : elements.getLong(at);
    }}
  }}

  static long hash(long value, long before) {{
    return XXH64.hashLong(value, before);
  }}

  static long hash(UTF8String value, long before) {{
    return XXH64.hashUnsafeBytes(value.getBaseObject(), value.getBaseOffset(), value.numBytes(), before);
  }}

{frames}}}
"""
"""What is in braces is written for the formulas."""
