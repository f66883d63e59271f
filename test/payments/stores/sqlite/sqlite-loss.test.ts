import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { readMark } from '../../../../src/payments/high-water-mark.ts';
import type { StoreEvent } from '../../../../src/payments/store.ts';
import { type PaymentStore, StoreUnavailable } from '../../../../src/payments/store.ts';
import { openStore } from '../../../../src/payments/stores/open-store.ts';
import { testFolder } from '../../../support/test-folder.ts';
import { openSqlite as open } from '../opened-stores.ts';
import { done, pending, retentionMs, start, stored } from '../store-conformance.ts';

const root = testFolder();
let files = 0;

/** A process that begins 60 payments and goes on. */
const program = join(root, 'child.mjs');
writeFileSync(
  program,
  `import { createSqliteStore } from ${JSON.stringify(new URL('../../../../src/payments/stores/sqlite/sqlite-store.ts', import.meta.url).href)};
  const [path, text] = process.argv.slice(2);
  const record = JSON.parse(text);
  const store = await createSqliteStore({ path, retentionMs: ${retentionMs}, timeoutMs: 60_000 });
  for (let n = 0; n < 60; n++)
    await store.begin({ ...record, id: 'q-' + n, createdAt: record.createdAt + 1000 + n }, record.createdAt);
  process.stdout.write('begun');
  setInterval(() => {}, 1000);`,
);

const freshPath = () => join(root, `state-${++files}.db`);

const begin = (store: PaymentStore, count: number, prefix = 'p') =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      store.begin(pending({ id: `${prefix}-${n}`, createdAt: start + n }), start),
    ),
  );

function removeAll(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
}

/** What any start says of a store with a loss: the sentence is in `loss`, begin refuses, reads go on. */
async function expectLoss(store: PaymentStore, sentence: string | RegExp): Promise<void> {
  expect(store.loss).toMatch(sentence);
  const refused = store.begin(pending({ id: 'p-0', trackId: 'again' }), start);
  await expect(refused).rejects.toThrow(StoreUnavailable);
  await expect(refused).rejects.toThrow(sentence);
  await expect(store.search({}, start)).resolves.toBeInstanceOf(Array);
  await expect(store.status(start)).resolves.toMatchObject({ pending: expect.any(Number) });
}

describe('the mark beside the file', () => {
  test('says how many payments were ever begun, and when the newest did', async () => {
    const path = freshPath();
    const store = await open(path);
    await begin(store, 5);
    await store.end({ id: 'p-0', trackId: pending().trackId, outcome: null, at: start });
    await begin(store, 1);
    await expect.poll(() => readMark(`${path}.mark`)).toMatchObject({ began: 6, newestAt: start + 4 });
    expect(statSync(`${path}.mark`).mode & 0o777).toBe(0o600);
  });

  test('that is missing is made anew, and one that lags is no loss', async () => {
    const path = freshPath();
    const first = await open(path);
    await begin(first, 3);
    await first.close();
    const lagging = readMark(`${path}.mark`);
    rmSync(`${path}.mark`);
    const second = await open(path);
    expect(second.loss).toBeNull();
    await begin(second, 2, 'q');
    await second.close();
    writeFileSync(`${path}.mark`, JSON.stringify(lagging));
    expect((await open(path)).loss).toBeNull();
    await expect.poll(() => readMark(`${path}.mark`)?.began).toBe(5);
  });
});

describe('a store that came back with fewer records', () => {
  test('because its log was lost after a SIGKILL refuses payments, and says what is missing', async () => {
    const path = freshPath();
    const first = await open(path);
    await begin(first, 3);
    // It empties the log into the file.
    await first.close();
    const args = [program, path, JSON.stringify(pending())];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    await expect.poll(() => readMark(`${path}.mark`)?.began).toBe(63);
    child.kill('SIGKILL');
    await once(child, 'exit');
    for (const end of ['-wal', '-shm']) rmSync(path + end);

    const store = await open(path);
    await expectLoss(
      store,
      `it has lost records: ${path}.mark knows of 63 payments until 2026-01-15T00:00:01.059Z, and it holds 3 of them; missing is what began after 2026-01-15T00:00:00.002Z.`,
    );
    expect(await store.find('p-0', start)).toEqual(stored({ id: 'p-0' }));
    expect(await store.end({ id: 'p-1', trackId: pending().trackId, outcome: done, at: start })).toBe(true);
    // Nobody's decision: the next start says the same.
    await store.close();
    await expectLoss(await open(path), 'it holds 3 of them');
  });

  test('because its file is gone is made, and refuses payments', async () => {
    const path = freshPath();
    const first = await open(path);
    await begin(first, 2);
    await first.close();
    removeAll(path);
    await expectLoss(
      await open(path),
      /knows of 2 payments until 2026-01-15T00:00:00.001Z, and it is new and holds none of them/,
    );
  });

  test('because an older copy took its place refuses payments; the witness sees a copy with its mark', async () => {
    const path = freshPath();
    const witness = join(root, `witness-${files}`);
    const first = await open(path, { witness });
    await begin(first, 2);
    await first.close();
    const copied = [path, `${path}.mark`];
    for (const file of copied) copyFileSync(file, `${file}.copy`);
    const second = await open(path, { witness });
    await begin(second, 3, 'q');
    await second.close();
    copyFileSync(`${path}.copy`, path);
    const third = await open(path);
    await expectLoss(third, 'it holds 2 of them');
    await third.close();
    for (const file of copied) copyFileSync(`${file}.copy`, file);
    // All that the witness is for.
    const fourth = await open(path);
    expect(fourth.loss).toBeNull();
    await fourth.close();
    await expectLoss(await open(path, { witness }), `${witness} knows of 5 payments`);
  });

  test('because an older copy took its place refuses payments in processes that run', async () => {
    const path = freshPath();
    const witness = join(root, `running-witness-${files}`);
    const [store, other] = [await open(path, { witness }), await open(path, { witness })];
    await begin(store, 1);
    await store.close();
    const copy = `${path}.copy`;
    copyFileSync(path, copy);
    const running = await open(path, { witness });
    expect(await running.begin(pending({ id: 'lost' }), start)).toBeNull();
    await expect.poll(() => readMark(witness)?.began).toBe(2);
    // Now the writing and the searching thread of each have the file open, and each notices by itself that it was replaced.
    for (const each of [running, other]) expect(await each.search({}, start)).toHaveLength(2);
    for (const end of ['-wal', '-shm']) rmSync(path + end);
    renameSync(copy, path);
    // One knows what is missing, the other one learns it from the witness.
    for (const each of [running, other]) {
      await expect(each.find('lost', start)).rejects.toThrow('another file has taken its place');
      await expect(each.search({}, start)).rejects.toThrow('another file has taken its place');
      expect(await each.find('lost', start)).toBeNull();
      await expectLoss(each, 'it has lost records');
      await expect(each.begin(pending({ id: 'lost', trackId: 'again' }), start)).rejects.toThrow(
        'it has lost records',
      );
    }
  });

  test('or whose mark cannot be read refuses payments, for nobody knows', async () => {
    const path = freshPath();
    const first = await open(path);
    await begin(first, 1);
    await first.close();
    writeFileSync(`${path}.mark`, 'x');
    const store = await open(path);
    await expectLoss(store, 'so that it is not known whether records were lost');
    await store.acceptLoss('Ada', start);
    expect(store.loss).toBeNull();
    expect(readMark(`${path}.mark`)?.began).toBe(1);
  });

  test('is nothing new where nothing was ever begun', async () => {
    const path = freshPath();
    await (await open(path)).close();
    removeAll(path);
    const store = await open(path);
    expect(store.loss).toBeNull();
    await begin(store, 1);
    await expect.poll(() => readMark(`${path}.mark`)?.began).toBe(1);
  });
});

describe('an accepted loss', () => {
  async function lose(witness?: string) {
    const path = freshPath();
    const first = await open(path, { witness });
    await begin(first, 4);
    await first.close();
    removeAll(path);
    return path;
  }

  test('lets payments go on, at once in every process, and says for ever who decided', async () => {
    const path = await lose();
    const events: StoreEvent[] = [];
    const server = await open(path, { onEvent: (event) => events.push(event) });
    await expectLoss(server, 'it is new');
    expect(events).toEqual([{ kind: 'loss', loss: server.loss }]);

    const operator = await open(path, { create: false });
    await operator.acceptLoss('Ada: found in the ledger', start + 7);
    expect(operator.loss).toBeNull();
    // Also where nobody asks for a payment.
    await expect.poll(() => server.loss).toBeNull();
    const told = events.map(({ kind }) => kind).filter((kind) => kind.startsWith('loss'));
    expect(told).toEqual(['loss', 'loss-accepted']);
    expect(await server.begin(pending(), start)).toBeNull();
    for (const store of [server, operator]) await store.close();

    expect((await open(path)).loss).toBeNull();
    using database = new DatabaseSync(path, { readOnly: true });
    expect(JSON.parse(String(database.prepare('SELECT text FROM meta').get()?.text)).decisions).toEqual([
      {
        at: start + 7,
        by: 'Ada: found in the ledger',
        what: expect.stringMatching(/^accepted the loss of records: .*"began":4/),
      },
    ]);
  });

  test('is one of the marks that it knows; with a witness that it does not know the next start refuses', async () => {
    const witness = join(root, `witness-${files}-lost`);
    const path = await lose(witness);
    const blind = await open(path);
    await blind.acceptLoss('Ada', start);
    await begin(blind, 1);
    await blind.close();
    // It took over the count that its own mark knew, which is the witness's as well.
    const knowing = await open(path, { witness });
    expect(knowing.loss).toBeNull();
    await knowing.close();
    rmSync(`${path}.mark`);
    removeAll(path);
    const seeing = await open(path, { witness });
    await expectLoss(seeing, `${witness} knows of`);
    await seeing.acceptLoss('Ada', start);
    expect(readMark(witness)).toEqual(readMark(`${path}.mark`));
  });

  test('is noticed again where the next one is lost as well', async () => {
    const path = await lose();
    const store = await open(path);
    await store.acceptLoss('Ada', start);
    await begin(store, 1);
    await store.close();
    removeAll(path);
    await expectLoss(await open(path), 'knows of 1 payment');
  });

  test('is not accepted where its mark cannot be written', async () => {
    const folder = join(root, `away-${++files}`);
    const path = await lose();
    mkdirSync(folder);
    const witness = join(folder, 'witness');
    copyFileSync(`${path}.mark`, witness);
    const events: StoreEvent[] = [];
    const store = await open(path, { witness, onEvent: (event) => events.push(event) });
    await expectLoss(store, 'it is new');
    // A folder with something in it cannot be replaced by a file.
    rmSync(witness);
    mkdirSync(join(witness, 'x'), { recursive: true });
    await expect(store.acceptLoss('Ada', start)).rejects.toThrow('cannot be read');
    expect(store.loss).not.toBeNull();
    expect(events).toContainEqual({ kind: 'mark-failed', file: witness, reason: expect.any(String) });
    renameSync(witness, `${witness}-away`);
  });
});

test('payments go on after another process has changed the metadata, unless records are missing', async () => {
  const path = freshPath();
  const store = await open(path);
  await begin(store, 3);
  await store.end({ id: 'p-1', trackId: pending().trackId, outcome: done, at: start });
  const changeMetadata = (version: string, deleted: string) => {
    using database = new DatabaseSync(path);
    database.prepare('DELETE FROM payment WHERE id = ?').run(deleted);
    database.prepare('UPDATE meta SET version = ?').run(version);
  };
  changeMetadata('another', '');
  expect(await store.begin(pending({ id: 'next' }), start)).toBeNull();
  changeMetadata('a third', 'p-1');
  await expect(store.begin(pending({ id: 'p-1', trackId: 'again' }), start)).rejects.toThrow(
    'of the latest 4 payments of this process 1 are missing',
  );
});

test('a witness in a folder that is missing stops the start', async () => {
  const path = freshPath();
  const witness = join(root, 'missing', 'witness');
  await expect(openStore(`sqlite:${path}`, { timeoutMs: 60_000, retentionMs, witness })).rejects.toThrow(
    `STATE_WITNESS is ${witness}: it has to name a file in a folder that is there`,
  );
});
