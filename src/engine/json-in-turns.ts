import { WorkQueue } from '../executor/scheduler.ts';
import { JsonWriter } from './json-writer.ts';

/** In bytes. Writing a chunk takes about a millisecond. */
const defaultChunkSize = 256 * 1024;

/**
 * The JSON of plain data in UTF-8, in chunks, whose writing takes turns with the deferred work of all executions. Null if
 * it is longer than `maxBytes`; the rest is then not written.
 * Errors: those of JSON.stringify.
 */
export function jsonInTurns(
  value: unknown,
  maxBytes: number,
  chunkSize = defaultChunkSize,
): Promise<readonly Buffer[] | null> {
  const queue = new WorkQueue();
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
