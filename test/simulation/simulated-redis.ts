import type { Duplex } from 'node:stream';
import { historyLine } from '../../src/payments/payment-history.ts';
import type { PaymentOutcome, PaymentRecord, PaymentStore } from '../../src/payments/store.ts';
import { migrationScripts } from '../../src/payments/stores/redis/migration.ts';
import { parseRecord, recordFields } from '../../src/payments/stores/redis/record-fields.ts';
import { scripts } from '../../src/payments/stores/redis/scripts.ts';
import { metadataScripts } from '../../src/payments/stores/redis/store-metadata.ts';
import type { SimulatedNetwork } from './network.ts';
import { CommandReader, type Reply, writeReply } from './resp.ts';
import type { SimulatedProcess } from './world.ts';

export const redisAddress = {
  host: 'redis',
  port: 6379,
  tls: false,
  database: 0,
  username: undefined,
  password: undefined,
};

type Handler = (args: readonly string[], now: number, toOwnClock: (at: string) => number) => Promise<Reply>;

const info = 'redis_mode:standalone\r\nrole:master\r\naof_enabled:1\r\nmaxmemory_policy:noeviction\r\n';
const ok = { simple: 'OK' };

/**
 * A Redis that keeps its records: RESP over the simulated network, and in place of each Lua script what the memory store
 * does, which passes the same conformance test. `records` is shared by all its connections, and outlives them.
 */
export class SimulatedRedis {
  readonly #records: PaymentStore;
  readonly #meta = new Map<string, string>();
  readonly #open = new Set<Duplex>();
  #name: string | null = null;
  readonly #handlers: ReadonlyMap<string, Handler>;

  constructor(records: PaymentStore) {
    this.#records = records;
    this.#handlers = new Map(
      Object.entries({
        [scripts.begin.sha1]: this.#begin,
        [scripts.finish.sha1]: this.#finish,
        [scripts.release.sha1]: async ([id = '', trackId = '', afterLease]) =>
          Number(await records.release(id, trackId, { afterLease: afterLease === '1' })),
        [scripts.find.sha1]: async ([id = ''], now) => flat(await records.find(id, now)),
        [metadataScripts.open.sha1]: this.#openMetadata,
        [metadataScripts.missing.sha1]: this.#missing,
        [migrationScripts.begin.sha1]: async (_, now) => [String(now), this.#meta.get('migratedAt') ?? null],
        [migrationScripts.end.sha1]: async ([at = '']) => Number(this.#meta.set('migratedAt', at).size > 0),
        // Nothing is of version 1.
        [scripts.readIndex.sha1]: async () => ['0', []],
        [migrationScripts.read.sha1]: async () => [],
      } satisfies Record<string, Handler>),
    );
  }

  /** Takes connections. */
  listen(network: SimulatedNetwork, process: SimulatedProcess): void {
    network.listen(`${redisAddress.host}:${redisAddress.port}`, process, (socket) => this.serve(socket));
  }

  /** Breaks all connections; what arrived was executed. */
  breakConnections(): void {
    for (const socket of this.#open) socket.destroy();
  }

  /** Answers what comes over a connection. */
  serve(socket: Duplex): void {
    const reader = new CommandReader();
    let last = Promise.resolve();
    this.#open.add(socket);
    socket.on('close', () => this.#open.delete(socket));
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      for (const command of reader.read(chunk)) {
        last = last.then(async () => {
          const reply = await this.#execute(command);
          if (!socket.destroyed) socket.write(writeReply(reply));
        });
      }
    });
  }

  async #execute([command = '', ...args]: readonly string[]): Promise<Reply> {
    switch (command.toUpperCase()) {
      case 'PING':
        return { simple: 'PONG' };
      case 'SELECT':
        return ok;
      case 'INFO':
        return info;
      case 'CONFIG':
        return ['appendfsync', 'always'];
      case 'SET':
        this.#name ??= args[1] ?? null;
        return ok;
      case 'GET':
        return this.#name;
      case 'EVALSHA':
        return this.#run(args);
      default:
        return new Error(`ERR unknown command '${command}', which is not simulated`);
    }
  }

  async #run([sha1 = '', keyCount = '', ...rest]: readonly string[]): Promise<Reply> {
    const [name, callerNow, , clock, ...args] = rest.slice(Number(keyCount));
    const handler = this.#handlers.get(sha1);
    if (handler === undefined) return new Error(`ERR script ${sha1} is not simulated`);
    if (name !== this.#name) return new Error('LOST it has lost its records');
    const now = clock === 'server' ? Date.now() : Number(callerNow);
    return handler(args, now, (at) => Number(at) + now - Number(callerNow));
  }

  #begin: Handler = async (args, now, toOwnClock) => {
    const [id = '', caller = '', createdAt = '', updatedAt = '', leaseUntil = '', , ...fields] = args;
    const times = { createdAt, updatedAt, leaseUntil };
    const own = Object.entries(times).flatMap(([name, at]) => [name, String(toOwnClock(at))]);
    const record = parseRecord(['id', id, 'caller', caller, ...own, ...fields, 'version', '2'], '');
    if (record === null) throw new Error(`no record: ${args.join(' ')}`);
    const found = await this.#records.begin(record, now);
    if (found !== null) return flat(found);
    const began = Number(this.#meta.get('began')) + 1;
    const newestAt = Math.max(record.createdAt, Number(this.#meta.get('newestAt') ?? 0));
    this.#meta.set('began', String(began)).set('newestAt', String(newestAt));
    return [began, newestAt, record.createdAt, 0, 0, 0];
  };

  #finish: Handler = async ([id = '', trackId = '', state = '', , ...flatFields], now) => {
    const fields = new Map<string, string>();
    for (let n = 0; n + 1 < flatFields.length; n += 2)
      fields.set(flatFields[n] ?? '', flatFields[n + 1] ?? '');
    const status = fields.get('status');
    const outcome = {
      // What the client's code sends is one of these.
      state: state as PaymentOutcome['state'],
      answer: fields.get('answer') ?? null,
      code: fields.get('code') ?? null,
      status: status === undefined ? null : Number(status),
      message: fields.get('message') ?? null,
      bankText: fields.get('bankText') ?? null,
    };
    return Number(await this.#records.finish(id, trackId, outcome, now));
  };

  #openMetadata: Handler = async ([secret = '']) => {
    for (const [field, value] of Object.entries({ version: '1', secret, began: '0' }))
      if (!this.#meta.has(field)) this.#meta.set(field, value);
    const began = this.#meta.get('began') ?? null;
    const mark = began === '0' ? [null, null, null] : [this.#name, began, this.#meta.get('newestAt') ?? null];
    return [[...this.#meta].flat(), mark];
  };

  #missing: Handler = async (begins, now) => {
    const missing: number[] = [];
    for (let n = 0; n + 2 < begins.length; n += 3) {
      const found = await this.#records.find(begins[n] ?? '', now);
      if (found?.trackId !== begins[n + 1]) missing.push(Number(begins[n + 2]));
    }
    return missing;
  };
}

/** As HGETALL answers. */
function flat(record: PaymentRecord | null): Reply {
  if (record === null) return null;
  const history = record.history.map((event) => `\n${historyLine(event)}`).join('');
  return [...recordFields(record), 'history', history, 'version', '2'];
}
