import { type TurnTaker, WorkQueue } from '../executor/scheduler.ts';

/** In bytes. Writing a chunk takes about a millisecond. */
const defaultChunkSize = 256 * 1024;

interface JsonInTurnsOptions {
  /** Whose turns are taken; nobody else's if omitted. */
  readonly taker?: TurnTaker | undefined;
  readonly chunkSize?: number | undefined;
}

/**
 * The JSON of plain data in UTF-8, in chunks, whose writing takes turns with the deferred work of all executions. Null if
 * it is longer than `maxBytes`; the rest is then not written.
 * Errors: those of JSON.stringify.
 */
export function jsonInTurns(
  value: unknown,
  maxBytes: number,
  { taker, chunkSize = defaultChunkSize }: JsonInTurnsOptions = {},
): Promise<readonly Buffer[] | null> {
  const queue = new WorkQueue({ taker, stage: 'finishing' });
  return new Promise((resolve, reject) => {
    let writer: JsonWriter | undefined;
    const write = () => {
      try {
        writer ??= new JsonWriter(value, chunkSize);
        const isWritten = writer.writeChunk();
        if (writer.bytes > maxBytes) resolve(null);
        else if (isWritten) resolve(writer.chunks);
        else queue.push(write);
      } catch (error) {
        reject(error);
      }
    };
    queue.push(write);
  });
}

/** A list or an object whose members are being written. */
interface OpenContainer {
  readonly members: Readonly<Record<string | number, unknown>>;
  /** The names of an object's members; null for a list. */
  readonly names: readonly string[] | null;
  readonly length: number;
  next: number;
  /** Whether the next member is written without a comma before it. */
  isFirst: boolean;
}

/**
 * About so much JSON is made at once by JSON.stringify, in characters: enough to gain from its speed, and little enough to
 * take a fraction of a millisecond.
 */
const sliceSize = 16 * 1024;

/**
 * After a slice with characters that are not ASCII, so many entries are written by themselves, which is faster for them;
 * twice as many after the next one.
 */
const firstPause = 128;

/** About the length of a value's JSON; infinite if there is a list in it, whose length nothing bounds. */
function flatSize(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 6;
  if (Array.isArray(value)) return Infinity;
  const members = value as Readonly<Record<string, unknown>>;
  let size = 2;
  for (const name in members) size += name.length + 4 + flatSize(members[name]);
  return size;
}

/** Up to this length characters are written one by one: a call into Node takes as long as dozens of them. */
const shortText = 64;
/** The most bytes that a UTF-16 unit takes in UTF-8. */
const bytesPerUnit = 3;

/**
 * Writes the JSON of plain data in UTF-8, chunk by chunk: the same bytes as of JSON.stringify's text.
 *
 * That text has two bytes for each character as soon as one of them is not Latin, and takes several times as long: 10
 * MB of long response names and Greek values take it 100 ms of processor time, and this 30 (`node test/long/measure-json.ts`).
 * Entries of lists that are ASCII are written in slices by JSON.stringify, in a third of the time.
 */
export class JsonWriter {
  /** The chunks that are full; all of them once everything is written. */
  readonly chunks: Buffer[] = [];
  readonly #chunkSize: number;
  /** The lists and objects around what is written next, the innermost last. */
  readonly #open: OpenContainer[] = [];
  /** The JSON of members' names, with the colon: an operation has few names, and each occurs many times. */
  readonly #names = new Map<string, Buffer>();
  #chunk: Buffer;
  #length = 0;
  #bytesInChunks = 0;
  /** So many entries of lists are written by themselves next, and after the next slice that is not ASCII. */
  #singleEntries = 0;
  #pause = firstPause;

  /** Chunks are made large enough for a short text. Errors: those of JSON.stringify. */
  constructor(value: unknown, chunkSize: number) {
    this.#chunkSize = Math.max(chunkSize, shortText * bytesPerUnit + 2);
    this.#chunk = Buffer.allocUnsafe(this.#chunkSize);
    this.#writeValue(plain(value));
  }

  /** The number of bytes written so far. */
  get bytes(): number {
    return this.#bytesInChunks + this.#length;
  }

  /** Writes until another chunk is full; true once everything is written. Errors: those of JSON.stringify. */
  writeChunk(): boolean {
    const full = this.chunks.length;
    for (let container = this.#open.at(-1); container !== undefined; container = this.#open.at(-1)) {
      if (this.chunks.length > full) return false;
      this.#writeMembers(container);
    }
    this.#closeChunk();
    return true;
  }

  /** Writes members until one is a container, which is opened, or until a chunk is full. */
  #writeMembers(container: OpenContainer): void {
    const { members, names, length } = container;
    const depth = this.#open.length;
    const full = this.chunks.length;
    while (container.next < length) {
      if (names === null && this.#writeEntries(container)) {
        if (this.chunks.length > full) return;
        continue;
      }
      const name = names?.[container.next];
      const value = plain(members[name ?? container.next]);
      container.next++;
      if (name !== undefined && isOmitted(value)) continue;
      if (!container.isFirst) this.#writeByte(codes.comma);
      container.isFirst = false;
      if (name !== undefined) this.#writeName(name);
      this.#writeValue(value);
      if (this.#open.length > depth || this.chunks.length > full) return;
    }
    this.#open.pop();
    this.#writeByte(names === null ? codes.endOfList : codes.endOfObject);
  }

  /** Writes the next entries of a list by JSON.stringify, if two or more of them hold no lists; whether it did. */
  #writeEntries(container: OpenContainer): boolean {
    const { members, length, next } = container;
    if (this.#singleEntries > 0) {
      this.#singleEntries--;
      return false;
    }
    let end = next;
    const most = Math.min(sliceSize, this.#chunkSize / bytesPerUnit);
    for (let size = 0; end < length; end++) {
      size += flatSize(members[end]);
      if (size > most) break;
    }
    if (end - next < 2 || !Array.isArray(members)) return false;
    if (!container.isFirst) this.#writeByte(codes.comma);
    container.isFirst = false;
    container.next = end;
    const json = JSON.stringify(members.slice(next, end)).slice(1, -1);
    const bytes = this.#writeText(json);
    this.#pause = bytes === json.length ? firstPause : this.#pause * 2;
    if (bytes > json.length) this.#singleEntries = this.#pause;
    return true;
  }

  #writeValue(value: unknown): void {
    if (typeof value === 'object' && value !== null) this.#openContainer(value);
    else if (typeof value !== 'string' || value.length > shortText || !this.#writeShortString(value))
      this.#writeText(JSON.stringify(value) ?? 'null');
  }

  #openContainer(value: object): void {
    const isList = Array.isArray(value);
    const names = isList ? null : Object.keys(value);
    const length = isList ? value.length : (names?.length ?? 0);
    this.#open.push({
      members: value as OpenContainer['members'],
      names,
      length,
      next: 0,
      isFirst: true,
    });
    this.#writeByte(isList ? codes.list : codes.object);
  }

  #writeName(name: string): void {
    let json = this.#names.get(name);
    if (json === undefined) {
      json = Buffer.from(`${JSON.stringify(name)}:`);
      this.#names.set(name, json);
    }
    const { length } = json;
    if (length > this.#chunkSize) {
      this.#closeChunk(json);
      return;
    }
    this.#makeRoom(length);
    const chunk = this.#chunk;
    if (length > shortText) chunk.set(json, this.#length);
    else for (let at = 0; at < length; at++) chunk[this.#length + at] = json[at] ?? 0;
    this.#length += length;
  }

  /** Writes a short text; false if it has characters that are escaped or make up a pair. */
  #writeShortString(value: string): boolean {
    this.#makeRoom(value.length * bytesPerUnit + 2);
    const chunk = this.#chunk;
    let at = this.#length;
    chunk[at++] = codes.quote;
    for (let index = 0; index < value.length; index++) {
      const unit = value.charCodeAt(index);
      if (unit < 0x80) {
        if (unit < 0x20 || unit === codes.quote || unit === codes.backslash) return false;
        chunk[at++] = unit;
      } else if (unit < 0x800) {
        chunk[at++] = 0xc0 | (unit >> 6);
        chunk[at++] = 0x80 | (unit & 0x3f);
      } else {
        if (unit >= 0xd800 && unit <= 0xdfff) return false;
        chunk[at++] = 0xe0 | (unit >> 12);
        chunk[at++] = 0x80 | ((unit >> 6) & 0x3f);
        chunk[at++] = 0x80 | (unit & 0x3f);
      }
    }
    chunk[at++] = codes.quote;
    this.#length = at;
    return true;
  }

  /** Shape: the number of bytes. */
  #writeText(json: string): number {
    const room = json.length * bytesPerUnit;
    if (room > this.#chunkSize) {
      const bytes = Buffer.from(json);
      this.#closeChunk(bytes);
      return bytes.length;
    }
    this.#makeRoom(room);
    const written = this.#chunk.write(json, this.#length);
    this.#length += written;
    return written;
  }

  #writeByte(code: number): void {
    this.#makeRoom(1);
    this.#chunk[this.#length++] = code;
  }

  #makeRoom(bytes: number): void {
    if (this.#length + bytes > this.#chunkSize) this.#closeChunk();
  }

  /** Begins another chunk, after what is too long for one. */
  #closeChunk(tooLong?: Buffer): void {
    this.#bytesInChunks += this.#length + (tooLong?.length ?? 0);
    this.chunks.push(this.#chunk.subarray(0, this.#length));
    if (tooLong !== undefined) this.chunks.push(tooLong);
    this.#length = 0;
    this.#chunk = Buffer.allocUnsafe(this.#chunkSize);
  }
}

const codes = {
  quote: 0x22,
  backslash: 0x5c,
  comma: 0x2c,
  list: 0x5b,
  endOfList: 0x5d,
  object: 0x7b,
  endOfObject: 0x7d,
} as const;

/** The value that is written for another, by its toJSON. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('toJSON' in value)) return value;
  return typeof value.toJSON === 'function' ? value.toJSON() : value;
}

/** Whether an object's JSON leaves out a member of this value. */
const isOmitted = (value: unknown): boolean =>
  value === undefined || typeof value === 'function' || typeof value === 'symbol';
