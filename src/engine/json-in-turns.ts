import { WorkQueue } from '../executor/scheduler.ts';

/** The approximate length of a slice in characters: serializing it takes a millisecond or two. */
const defaultSliceLength = 256 * 1024;

/**
 * The JSON of a value in UTF-8, the same as from JSON.stringify, serialized in slices that take turns with the
 * deferred work of all executions. Null if it is longer than `maxBytes`; the rest is then not serialized.
 * Errors: those of JSON.stringify.
 */
export function jsonInTurns(
  value: unknown,
  maxBytes: number,
  sliceLength = defaultSliceLength,
): Promise<Buffer<ArrayBuffer> | null> {
  const queue = new WorkQueue();
  const pieces = piecesOf(value, sliceLength);
  const slices: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const makeSlice = () => {
      try {
        let text = '';
        let isOver = false;
        while (!isOver && text.length < sliceLength) {
          const piece = pieces.next();
          if (piece.done === true) isOver = true;
          else text += piece.value;
        }
        const slice = Buffer.from(text);
        bytes += slice.length;
        slices.push(slice);
        if (bytes > maxBytes) resolve(null);
        else if (isOver) resolve(Buffer.concat(slices));
        else queue.push(makeSlice);
      } catch (error) {
        reject(error);
      }
    };
    queue.push(makeSlice);
  });
}

/** The JSON of a value in pieces of about that length; a longer string is not split. */
function* piecesOf(value: unknown, sliceLength: number): Generator<string, void> {
  if (!isLong(value, sliceLength)) {
    yield JSON.stringify(value);
  } else if (Array.isArray(value)) {
    yield* piecesOfList(value, sliceLength);
  } else {
    let before = '{';
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* piecesOf(member, sliceLength);
      before = ',';
    }
    yield '}';
  }
}

/** Short entries are serialized together: one by one would take twice as long. */
function* piecesOfList(list: readonly unknown[], sliceLength: number): Generator<string, void> {
  let before = '[';
  let start = 0;
  let length = 0;
  for (let index = 0; index <= list.length; index++) {
    const own = index < list.length ? lengthOf(list[index], sliceLength) : sliceLength;
    length += own;
    if (length < sliceLength) continue;
    if (index > start) {
      yield before + JSON.stringify(list.slice(start, index)).slice(1, -1);
      before = ',';
    }
    start = index;
    length = own;
    if (own < sliceLength || index === list.length) continue;
    yield before;
    yield* piecesOf(list[index], sliceLength);
    before = ',';
    start = index + 1;
    length = 0;
  }
  yield ']';
}

const isLong = (value: unknown, sliceLength: number): value is object =>
  typeof value === 'object' &&
  value !== null &&
  !('toJSON' in value) &&
  lengthOf(value, sliceLength) >= sliceLength;

/** The approximate length of its JSON in characters; stops counting once `limit` is reached. */
function lengthOf(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length + 3;
  if (typeof value !== 'object' || value === null) return 8;
  let length = 2;
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    // Including its name, whose exact length is not worth the time to compute.
    length += 8 + lengthOf(member, limit - length);
    if (length >= limit) break;
  }
  return length;
}
