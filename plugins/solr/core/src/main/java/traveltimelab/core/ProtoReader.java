package traveltimelab.core;

import java.io.EOFException;
import java.io.IOException;
import java.util.Arrays;

/** Reads fields of a Protocol Buffers message. */
final class ProtoReader {
  static final int VARINT = 0;
  static final int BYTES = 2;

  private final byte[] bytes;
  private final int end;
  private int at;

  ProtoReader(byte[] bytes) {
    this(bytes, 0, bytes.length);
  }

  private ProtoReader(byte[] bytes, int start, int end) {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
  }

  boolean hasNext() {
    return at < end;
  }

  /** Read a tag: the field in the upper bits, the type of wire in the lower three. */
  int tag() throws IOException {
    return (int) varint();
  }

  long varint() throws IOException {
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at >= end) {
        throw new EOFException("the message ends within a number");
      }
      byte next = bytes[at++];
      value |= (long) (next & 0x7F) << shift;
      if (next >= 0) {
        return value;
      }
    }
    throw new IOException("a number has more than 64 bits");
  }

  int zigzag() throws IOException {
    int value = (int) varint();
    return (value >>> 1) ^ -(value & 1);
  }

  ProtoReader message() throws IOException {
    long length = varint();
    int start = at;
    skip(length);
    return new ProtoReader(bytes, start, at);
  }

  /** Read the numbers of a repeated field, packed or not, after its tag, and add them to others. */
  int[] numbers(int wire, int[] others, boolean isZigzag) throws IOException {
    ProtoReader in = wire == BYTES ? message() : this;
    int size = others.length;
    // Each number takes a byte or more.
    int[] all = Arrays.copyOf(others, size + (wire == BYTES ? in.end - in.at : 1));
    do {
      if (!in.hasNext()) {
        break;
      }
      all[size++] = isZigzag ? in.zigzag() : (int) in.varint();
    } while (wire == BYTES);
    return Arrays.copyOf(all, size);
  }

  /** Skip a field of which the tag was read. */
  void skipField(int wire) throws IOException {
    switch (wire) {
      case VARINT:
        varint();
        break;
      case 1:
        skip(8);
        break;
      case BYTES:
        skip(varint());
        break;
      case 5:
        skip(4);
        break;
      default:
        throw new IOException("there is no type of wire " + wire);
    }
  }

  private void skip(long count) throws IOException {
    if (count < 0 || count > end - at) {
      throw new EOFException("the message ends within a field");
    }
    at += (int) count;
  }
}
