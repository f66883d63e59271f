import { once } from 'node:events';
import type { Running } from '../measure.ts';

/** Node's inspector in a contender's process. */
export interface Inspector extends AsyncDisposable {
  /** Calls a method of the protocol. Errors: what the process answered. */
  post<T>(method: string, params?: object): Promise<T>;
}

/** What opens the inspector at a port. */
export const inspectable = (port: number): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--inspect=127.0.0.1:${port}`,
});

interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** Connects to the inspector of a process that was started with `inspectable`. */
export async function inspect({ process }: Running): Promise<Inspector> {
  const url = /ws:\/\/\S+/.exec(process.output())?.[0];
  if (url === undefined) throw new Error(`the inspector is not open: ${process.output()}`);
  const socket = new WebSocket(url);
  await once(socket, 'open');
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error }: Reply = JSON.parse(String(data));
    const reply = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) reply?.resolve(result);
    else reply?.reject(new Error(error.message));
  });
  let last = 0;
  return {
    post<T>(method: string, params: object = {}) {
      const reply = Promise.withResolvers<unknown>();
      waiting.set(++last, reply);
      socket.send(JSON.stringify({ id: last, method, params }));
      return reply.promise as Promise<T>;
    },
    // A process that is killed before its connection has closed fails it.
    async [Symbol.asyncDispose]() {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
}
