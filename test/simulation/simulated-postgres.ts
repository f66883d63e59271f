import { type Row, rowIn, type StoreDriver } from '../../src/payments/driver.ts';
import type { PaymentStore } from '../../src/payments/store.ts';
import { createMemoryDriver } from '../../src/payments/stores/memory-store.ts';
import { rowColumns } from '../../src/payments/stores/payment-columns.ts';
import { createPostgresStore } from '../../src/payments/stores/postgres/postgres-store.ts';
import { between } from './choices.ts';
import type { SimulatedNetwork, SimulatedSocket } from './network.ts';
import { type Database, retentionMs } from './simulated-database.ts';
import { epoch } from './virtual-globals.ts';
import { SimulatedProcess, type World } from './world.ts';

const host = { host: 'postgres', port: 5432 };
const name = `${host.host}:${host.port}`;

/** A row of an answer; each column is a text, a number, a boolean or null. */
type Columns = Readonly<Record<string, unknown>>;

/** A statement that a backend has read and not executed yet. */
interface Statement {
  readonly text: string;
  readonly values: readonly (string | null)[];
  isEnded: boolean;
}

/** A backend of the server: it serves one connection, and finishes what it has read also when that is gone. */
interface Backend {
  readonly pid: string;
  readonly socket: SimulatedSocket;
  current: Statement | null;
}

/**
 * A PostgreSQL server as bankql's own client sees it: the wire protocol over the simulated network, and of SQL the statements that
 * bankql sends, each told by its text and executed by a driver in memory. A statement may wait long for its commit, as for a
 * silent standby; meanwhile its connection may be lost, and only the end of its backend decides then what becomes of it.
 */
export class SimulatedPostgres implements Database {
  readonly driver: StoreDriver = createMemoryDriver();
  clockAheadMs = 0;
  readonly #world: World;
  readonly #network: SimulatedNetwork;
  readonly #served: StoreDriver;
  readonly #process = new SimulatedProcess('postgres');
  readonly #backends = new Map<string, Backend>();
  #pids = 0;

  constructor(world: World, network: SimulatedNetwork, broken = (driver: StoreDriver) => driver) {
    this.#world = world;
    this.#network = network;
    this.#served = broken(this.driver);
    this.#listen();
  }

  openStore(process: SimulatedProcess): Promise<PaymentStore> {
    return createPostgresStore({
      address: {
        ...{ hosts: [host], user: 'bankql', password: undefined, database: 'bankql', tls: null },
        applicationName: process.name,
      },
      retentionMs,
      timeoutMs: 500,
      onEvent: (event) => this.#world.note(`${process.name}: ${event.kind}`),
    });
  }

  goAway(forMs: number): void {
    this.#network.refuse(name);
    for (const { socket } of this.#backends.values()) socket.resetAndDestroy();
    this.#world.after(forMs, 'timer', this.#process, 'postgres comes back', () => this.#listen());
  }

  #listen(): void {
    this.#network.listen(name, this.#process, (socket) => this.#serve(socket));
  }

  #serve(socket: SimulatedSocket): void {
    const backend: Backend = { pid: String(++this.#pids), socket, current: null };
    this.#backends.set(backend.pid, backend);
    const texts = new Map<string, string>();
    const bound = { text: '', values: [] as (string | null)[] };
    let received = Buffer.alloc(0);
    let isStarted = false;
    socket.on('error', () => {});
    socket.on('close', () => {
      if (backend.current === null) this.#backends.delete(backend.pid);
    });
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      for (;;) {
        // The first message has no letter.
        const at = isStarted ? 1 : 0;
        if (received.length < at + 4 || received.length < at + received.readInt32BE(at)) return;
        const end = at + received.readInt32BE(at);
        const [letter, body] = [received.toString('latin1', 0, at), received.subarray(at + 4, end)];
        received = received.subarray(end);
        if (!isStarted) {
          isStarted = true;
          socket.write(Buffer.concat([message('R', int(0, 4)), ready]));
        } else if (letter === 'P') {
          const [statement = '', text = ''] = textsIn(body);
          texts.set(statement, text);
        } else if (letter === 'B') {
          const [portal = '', statement = ''] = textsIn(body);
          bound.text = texts.get(statement) ?? '';
          bound.values = valuesIn(body.subarray(Buffer.byteLength(portal + statement) + 2));
        } else if (letter === 'S') this.#execute(backend, bound.text, bound.values);
        else if (letter === 'Q') this.#execute(backend, textsIn(body)[0] ?? '', []);
        else if (letter === 'X') socket.end();
      }
    });
  }

  #execute(backend: Backend, text: string, values: readonly (string | null)[]): void {
    const world = this.#world;
    const statement: Statement = { text, values, isEnded: false };
    backend.current = statement;
    const what = `${/(?:INSERT|UPDATE|DELETE|SELECT) \S+/.exec(text)?.[0]} by backend ${backend.pid}, ${backend.socket.name}`;
    const slow = isWrite(text) ? world.choices.departs('late messages', 0.05, `${what}, is slow`) : null;
    world.after(slow === null ? 0.1 : between(20, 20_000, slow), 'message', this.#process, what, () => {
      if (statement.isEnded) return;
      void this.#answer(statement, backend.pid).then((rows) => {
        backend.current = null;
        if (backend.socket.destroyed) this.#backends.delete(backend.pid);
        else backend.socket.write(Buffer.concat([...rowsToMessages(rows), ready]));
      });
    });
  }

  /** Ends backends: what each was about to write is stored then, or never will be. Shape: those that were still there. */
  #end(pids: readonly string[]): readonly Columns[] {
    // A variant that does not settle writes.
    if (this.#served.settleWrites !== this.driver.settleWrites) return [];
    return pids.flatMap((pid) => {
      const backend = this.#backends.get(pid);
      if (backend === undefined) return [];
      const { current, socket } = backend;
      this.#backends.delete(pid);
      socket.resetAndDestroy();
      if (current !== null) {
        current.isEnded = true;
        if (this.#world.choices.random(`backend ${pid} ends`) < 0.5) void this.#answer(current, pid);
      }
      return [{ pid: Number(pid) }];
    });
  }

  async #answer({ text, values }: Statement, pid: string): Promise<readonly Columns[]> {
    const served = this.#served;
    const [first = '', second = null, third = null] = values;
    const settings = { synchronousCommit: 'on', standbyNames: '' };
    const serverTime = String(Math.floor(epoch + this.#world.now + this.clockAheadMs));
    const counted = ({
      began,
      newestAt,
      metadataVersion,
    }: Awaited<ReturnType<StoreDriver['readMetadata']>>) => ({
      ...{ began, metadataVersion, serverTime },
      newestAt: newestAt === null ? null : String(newestAt),
    });
    if (text.includes('INSERT INTO bankql.payment')) {
      const rows: Columns[] = [];
      for (const row of rowsOf(values)) {
        if (row === null) throw new Error('a beginning has all columns');
        const { existing } = await served.insertIfAbsent(row);
        rows.push({
          ...{ given: row.version, inserted: existing === null },
          existing: existing === null ? null : stored(existing),
        });
      }
      const counts = counted(await served.readMetadata());
      return rows.map((row) => ({ ...row, ...counts, ...settings }));
    }
    if (text.includes('SET version = payment.version')) {
      const versions = textsOf(second);
      const rows = await Promise.all(textsOf(first).map((id) => served.find(id)));
      return rows.flatMap((row, n) =>
        row !== null && row.version === versions[n] ? [{ version: row.version, ...settings }] : [],
      );
    }
    if (text.includes('SELECT version FROM replaced')) {
      const changed: Columns[] = [];
      const ids = textsOf(first);
      const expected = textsOf(values.at(-1));
      for (const [n, row] of rowsOf(values).entries()) {
        const version = expected[n] ?? '';
        if (await served.compareAndSet(ids[n] ?? '', version, row))
          changed.push({ version: row?.version ?? version, ...settings });
      }
      return changed;
    }
    if (text.includes('DELETE FROM bankql.payment USING'))
      return Array.from({ length: await served.purge(Number(first)) }, () => ({ id: '' }));
    if (text.includes('WHERE id = ANY($1::text[])')) {
      const rows = await Promise.all(textsOf(first).map((id) => served.find(id)));
      return rows.flatMap((row) => (row === null ? [] : [stored(row)]));
    }
    if (text.includes('AS kept')) return [{ ...(await served.count(Number(first), Number(second))) }];
    if (text.includes('known.track_id')) {
      const trackIds = textsOf(second);
      const attempts = textsOf(first).map((known, n) => ({ id: known, trackId: trackIds[n] ?? '' }));
      return (await served.findMissing(attempts)).map((attempt) => ({ ...attempt }));
    }
    if (text.startsWith('SELECT store.metadata')) {
      const snapshot = await served.readMetadata();
      return [{ ...counted(snapshot), text: snapshot.text }];
    }
    if (text.startsWith('UPDATE bankql.store SET metadata_version'))
      return (await served.writeMetadata(first, { version: second ?? '', text: third ?? '' }))
        ? [{ version: 1 }]
        : [];
    if (text.includes('pg_terminate_backend')) return this.#end(textsOf(first));
    if (text.includes('pg_is_in_recovery()')) return [{ ...server, pid: Number(pid), started_at: 'then' }];
    const rest = Object.entries(constants).find(([part]) => text.includes(part))?.[1];
    if (rest === undefined) throw new Error(`The simulated PostgreSQL does not know "${text}".`);
    return [rest];
  }
}

const server: Columns = {
  ...{
    standby: false,
    readOnly: false,
    version: 170_000,
    encoding: 'UTF8',
    fsync: 'on',
    fullPageWrites: 'on',
  },
  ...{ synchronousCommit: 'on', standbyNames: '' },
};

/** The other answers, by a part of their statement. */
const constants: Readonly<Record<string, Columns>> = {
  'set_config(': { done: true },
  'AS timeline': { timeline: '00000001' },
  'pg_control_system()': { server: 'system 1, timeline 1' },
  'AS found': { found: true },
  'SELECT version FROM bankql.store': { version: 2 },
};

const isWrite = (text: string) => /INSERT INTO|UPDATE bankql|DELETE FROM/.test(text);

/** The rows in an array of each column; null for one that is to be deleted. */
function rowsOf(values: readonly (string | null)[]): (Row | null)[] {
  const column = (name: (typeof rowColumns)[number]) => textsOf(values[rowColumns.indexOf(name)]);
  const [versions, times, json] = [column('version'), column('created_at'), column('json')];
  return column('id').map((id, n) => {
    const version = versions[n] ?? 'NULL';
    if (version === 'NULL') return null;
    return rowIn({ id, version, created_at: Number(times[n]), json: json[n] ?? '' });
  });
}

function stored(row: Awaited<ReturnType<StoreDriver['find']>>): Columns {
  if (row === null) throw new Error('a record that was found is there');
  const { id, version, created_at, json } = row;
  return { id, version, created_at: String(created_at), json };
}

/** The elements of an array, as pg writes it: `{"a","b",NULL}`. */
const textsOf = (array: string | null | undefined): string[] =>
  [...(array ?? '').slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|[^,]+/gs)].map(
    ([text, quoted]) => quoted?.replaceAll(/\\(.)/gs, '$1') ?? text,
  );

const textsIn = (body: Buffer): string[] => body.toString('utf8').split('\0');

/** The values of a Bind message, from its formats on. */
function valuesIn(body: Buffer): (string | null)[] {
  let place = 2 + 2 * body.readInt16BE(0);
  const count = body.readInt16BE(place);
  place += 2;
  return Array.from({ length: count }, () => {
    const length = body.readInt32BE(place);
    place += 4;
    if (length < 0) return null;
    place += length;
    return body.toString('utf8', place - length, place);
  });
}

function int(value: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeIntBE(value, 0, bytes);
  return buffer;
}

const message = (letter: string, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(letter), int(body.length + 4, 4), body]);
};

const ready = message('Z', Buffer.from('I'));

/** PostgreSQL's types by those of the values: text, int4, bool and json. */
const typeOf = (value: unknown) => ({ number: 23, boolean: 16, object: 114 })[typeof value as 'number'] ?? 25;

function rowsToMessages(rows: readonly Columns[]): readonly Buffer[] {
  const [first = {}] = rows;
  const fields = Object.entries(first).map(([column, value]) =>
    Buffer.concat([
      ...[Buffer.from(`${column}\0`), int(0, 4), int(0, 2), int(typeOf(value), 4)],
      ...[int(-1, 2), int(-1, 4), int(0, 2)],
    ]),
  );
  const data = rows.map((row) => {
    const values = Object.values(row).map((value) => {
      if (value === null || value === undefined) return int(-1, 4);
      const text = Buffer.from(
        value === true
          ? 't'
          : value === false
            ? 'f'
            : typeof value === 'object'
              ? JSON.stringify(value)
              : String(value),
      );
      return Buffer.concat([int(text.length, 4), text]);
    });
    return message('D', int(values.length, 2), ...values);
  });
  return [
    ...[message('1'), message('2'), message('T', int(fields.length, 2), ...fields)],
    ...[...data, message('C', Buffer.from(`SELECT ${rows.length}\0`))],
  ];
}
