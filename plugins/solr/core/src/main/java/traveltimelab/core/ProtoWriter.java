package traveltimelab.core;

import java.io.ByteArrayOutputStream;

/** Writes fields of a Protocol Buffers message. */
final class ProtoWriter {
  private static final int VARINT = 0;
  private static final int BYTES = 2;
  private static final int FIXED32 = 5;

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  byte[] toBytes() {
    return out.toByteArray();
  }

  ProtoWriter message(int field, byte[] message) {
    tag(field, BYTES);
    varint(message.length);
    out.write(message, 0, message.length);
    return this;
  }

  ProtoWriter float32(int field, float value) {
    int bits = Float.floatToRawIntBits(value);
    tag(field, FIXED32);
    for (int shift = 0; shift < 32; shift += 8) {
      out.write(bits >>> shift);
    }
    return this;
  }

  ProtoWriter number(int field, int value) {
    tag(field, VARINT);
    varint(value);
    return this;
  }

  ProtoWriter signed(int field, int value) {
    tag(field, VARINT);
    zigzag(value);
    return this;
  }

  /** A number without a tag, of a packed field. */
  void zigzag(int value) {
    varint(((value << 1) ^ (value >> 31)) & 0xFFFFFFFFL);
  }

  private void tag(int field, int type) {
    varint((long) field << 3 | type);
  }

  private void varint(long value) {
    long rest = value;
    while ((rest & ~0x7FL) != 0) {
      out.write((int) (rest & 0x7F) | 0x80);
      rest >>>= 7;
    }
    out.write((int) rest);
  }
}
