import type { Worker } from 'node:cluster';

/** The members of a message between Node in the primary and Node in a worker that concern connections. */
interface NodeMessage {
  readonly cmd?: string;
  readonly act?: string;
  readonly seq?: number;
  /** The `seq` of the message that it answers. */
  readonly ack?: number;
}

/** The process of a worker, as Node uses it. */
interface Channel {
  send(message: NodeMessage, ...more: unknown[]): boolean;
  on(event: 'internalMessage', listener: (message: NodeMessage) => void): void;
  emit(event: 'internalMessage', message: NodeMessage & { readonly accepted: boolean }): void;
}

/** How often at most a worker is said to be full, in milliseconds. */
const onFullEveryMs = 10_000;

/**
 * Closes connections that the primary gives to a worker and that do not arrive there. Node keeps each of them open in the primary, and
 * gives the worker no other one, until the worker answers that it has it. A worker that has ended does not answer, nor does one
 * without a free file descriptor, and the client would wait for ever. `onFull` is called in the second case.
 * Shape: a function to call when the worker has ended.
 */
export function closeLostConnections(worker: Worker, onFull: () => void): () => void {
  // Without a process there is no channel.
  if (worker.process.pid === undefined) return () => {};
  const channel: Channel = worker.process;
  const send = channel.send.bind(channel);
  let unanswered: number | null = null;
  let toldAt = Number.NEGATIVE_INFINITY;

  channel.send = (message: NodeMessage, ...more: unknown[]) => {
    if (message.act === 'newconn') unanswered = message.seq ?? null;
    return send(message, ...more);
  };
  /** Answers in the worker's place that it has the connection: Node closes it, and may give it another one. */
  function close(): void {
    if (unanswered !== null)
      channel.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: unanswered, accepted: true });
  }
  channel.on('internalMessage', ({ cmd, ack }: NodeMessage) => {
    // Node may have given it another connection at this answer.
    if (ack === unanswered) unanswered = null;
    if (cmd !== 'NODE_HANDLE_NACK') return;
    close();
    if (performance.now() - toldAt < onFullEveryMs) return;
    toldAt = performance.now();
    onFull();
  });
  return () => {
    // Node does not always notice by itself that the channel to a worker that has ended is closed.
    worker.disconnect();
    close();
  };
}
