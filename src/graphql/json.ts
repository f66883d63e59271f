import { type SlicedOperation, slices } from '../load/slices.ts';

/** The size of a chunk in characters. Writing a chunk takes about a millisecond. */
const defaultChunkSize = 256 * 1024;
/**
 * The approximate length of JSON that one JSON.stringify creates, in characters: long enough to be fast, and short enough to
 * take a fraction of a millisecond. A long string is one piece.
 */
const pieceSize = 16 * 1024;

/**
 * The JSON of an answer's data in UTF-8, in chunks. Each chunk waits for a slice of time of the operation (slices.ts). Null if
 * the JSON is longer than `maxBytes`; then the rest is not written.
 * Errors: those of JSON.stringify.
 */
export async function jsonInSlices(
  value: unknown,
  maxBytes: number,
  operation: SlicedOperation,
  chunkSize = defaultChunkSize,
): Promise<readonly Buffer[] | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let text = '';
  const endChunk = () => {
    const chunk = Buffer.from(text);
    text = '';
    bytes += chunk.length;
    chunks.push(chunk);
  };
  for (const piece of piecesOf(value, Math.min(pieceSize, chunkSize))) {
    text += piece;
    if (text.length < chunkSize) continue;
    endChunk();
    if (bytes > maxBytes) return null;
    if (!slices.hasTime) await slices.wait(operation);
  }
  endChunk();
  return bytes > maxBytes ? null : chunks;
}

/** The JSON of a value in pieces. Joined, they equal the result of JSON.stringify. */
function* piecesOf(value: unknown, size: number): Generator<string> {
  if (typeof value !== 'object' || value === null || sizeOf(value, size) <= size) {
    yield JSON.stringify(value) ?? 'null';
  } else if (Array.isArray(value)) {
    for (let at = 0; at < value.length; ) {
      yield at === 0 ? '[' : ',';
      const end = endOfPiece(value, at, size);
      if (end > at) yield JSON.stringify(value.slice(at, end)).slice(1, -1);
      else yield* piecesOf(value[at], size);
      at = Math.max(end, at + 1);
    }
    yield ']';
  } else {
    let lead = '{';
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      yield `${lead}${JSON.stringify(name)}:`;
      yield* piecesOf(member, size);
      lead = ',';
    }
    yield '}';
  }
}

/** The index after the last entry that fits into a piece of this size. */
function endOfPiece(list: readonly unknown[], start: number, size: number): number {
  let end = start;
  for (let left = size; end < list.length; end++) {
    left -= sizeOf(list[end], left);
    if (left < 0) break;
  }
  return end;
}

/** The approximate length of a value's JSON. If it exceeds `most`, the rest is not measured. */
function sizeOf(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 3;
  if (typeof value !== 'object' || value === null) return 6;
  let size = 2;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && size <= most; at++) size += sizeOf(value[at], most - size);
  } else {
    for (const name in value) {
      if (size > most) break;
      size += name.length + 4 + sizeOf(value[name as never], most - size);
    }
  }
  return size;
}
