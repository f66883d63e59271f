/** What a Redis answers: RESP2. An Error is an error reply. */
export type Reply = string | number | null | Error | readonly Reply[] | { readonly simple: string };

/** Reads commands, however their bytes are cut. */
export class CommandReader {
  #received = Buffer.alloc(0);

  /** The commands that are complete with these bytes. */
  read(chunk: Buffer): string[][] {
    this.#received = Buffer.concat([this.#received, chunk]);
    const commands: string[][] = [];
    for (;;) {
      const end = { at: 0 };
      const command = this.#readArray(end);
      if (command === null) return commands;
      commands.push(command);
      this.#received = this.#received.subarray(end.at);
    }
  }

  #readArray(end: { at: number }): string[] | null {
    const count = this.#readNumber('*', end);
    if (count === null) return null;
    const words: string[] = [];
    for (let n = 0; n < count; n++) {
      const length = this.#readNumber('$', end);
      if (length === null || this.#received.length < end.at + length + 2) return null;
      words.push(this.#received.toString('utf8', end.at, end.at + length));
      end.at += length + 2;
    }
    return words;
  }

  #readNumber(kind: string, end: { at: number }): number | null {
    const lineEnd = this.#received.indexOf('\r\n', end.at);
    if (lineEnd === -1) return null;
    const line = this.#received.toString('latin1', end.at, lineEnd);
    if (line[0] !== kind) throw new Error(`${kind} was expected in RESP, not ${line}`);
    end.at = lineEnd + 2;
    return Number(line.slice(1));
  }
}

export function writeReply(reply: Reply): string {
  if (reply === null) return '$-1\r\n';
  if (typeof reply === 'number') return `:${reply}\r\n`;
  if (typeof reply === 'string') return `$${Buffer.byteLength(reply)}\r\n${reply}\r\n`;
  if (reply instanceof Error) return `-${reply.message}\r\n`;
  if ('simple' in reply) return `+${reply.simple}\r\n`;
  return `*${reply.length}\r\n${reply.map(writeReply).join('')}`;
}
