import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openStore } from '../../../src/payments/store/open-store.ts';
import { done, lease, pending, unknown } from '../../payments/store/store-conformance.ts';
import { ada, inStore, operate } from '../../support/operate.ts';
import { runCommand } from '../../support/run-command.ts';
import { testFolder } from '../../support/test-folder.ts';

/** The effects of an operator's commands on the files of a SQLite store. */

const folder = testFolder();
const { id, trackId } = pending();
const urlOf = (path: string) => `sqlite:${path}`;
const run = (path: string, ...args: string[]) => operate(args, { url: urlOf(path) });
let stores = 0;
const freshPath = () => join(folder, `${++stores}`, 'state.db');

/** A store with an UNKNOWN payment. */
async function makeStore(): Promise<string> {
  const path = freshPath();
  await inStore(urlOf(path), async (store) => {
    await store.begin(pending(), lease);
    await store.end({ id, trackId, outcome: unknown });
  });
  return path;
}

/** The files of a folder with their owner, mode and content. */
const filesOf = (path: string) =>
  readdirSync(dirname(path))
    .sort()
    .map((name) => {
      const file = join(dirname(path), name);
      const { uid, gid, mode, mtimeMs } = statSync(file);
      return { name, uid, gid, mode, mtimeMs, content: readFileSync(file).toString('base64') };
    });

describe('payments init', () => {
  test('makes the store, without a bank, and says so; a store that is there stays as it is', async () => {
    const path = freshPath();
    const environment = { NODE_ENV: 'production', STATE_URL: urlOf(path) };
    expect(await runCommand(['payments', 'init'], { environment })).toEqual({
      code: 0,
      output: `Made a new, empty payment store: sqlite:${path}\n`,
      errors: '',
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await inStore(urlOf(path), (store) => store.begin(pending(), lease))).toBeNull();
    const before = filesOf(path);
    expect(await run(path, 'init')).toEqual({
      code: 0,
      output: `There is a payment store already, and it stays as it is: sqlite:${path}\n`,
      errors: '',
    });
    expect(filesOf(path)).toEqual(before);
  });

  test('refuses a file that is no store, and leaves it', async () => {
    const path = freshPath();
    mkdirSync(dirname(path));
    writeFileSync(path, 'notes '.repeat(1000));
    const before = filesOf(path);
    expect(await run(path, 'init')).toMatchObject({
      code: 1,
      errors: expect.stringContaining('cannot be used'),
    });
    expect(filesOf(path)).toEqual(before);
  });

  test('is the only command that makes a store', async () => {
    const path = freshPath();
    for (const args of [
      ['list'],
      ['show', id],
      ['settle', id, '--as', 'done', ...ada, '--yes'],
      ['backup', `${path}.copy`],
    ])
      expect([args, await run(path, ...args)]).toMatchObject([args, { code: 1, output: '' }]);
    expect((await run(path, 'list')).errors).toMatch(/^There is no payment store at .*bankql payments init/);
    expect(existsSync(dirname(path))).toBe(false);
  });

  test('takes no words, and no store in memory', async () => {
    expect(await run(freshPath(), 'init', 'x')).toMatchObject({
      code: 2,
      errors: expect.stringMatching(/^bankql payments init takes options only/),
    });
    for (const args of [['init'], ['list'], ['backup', 'x']])
      expect(await operate(args, { url: 'memory:' })).toMatchObject({
        code: 1,
        errors: expect.stringMatching(/^STATE_URL is memory:, or not set/),
      });
  });
});

describe('payments list and show', () => {
  test.each([['list'], ['list', '--state', 'unknown,pending,done'], ['show', id]])(
    'write nothing, not even a file for a moment that a killed command would leave: %s',
    async (...args) => {
      const path = await makeStore();
      const before = filesOf(path);
      const seen: (string | null)[] = [];
      const watcher = watch(dirname(path), (_, name) => seen.push(name));
      try {
        expect(await run(path, ...args)).toMatchObject({ code: 0 });
        expect(filesOf(path)).toEqual(before);
        // Changes are reported in order, so any change by the command would have been reported before this one.
        writeFileSync(join(dirname(path), 'last'), '');
        await expect.poll(() => seen).toContain('last');
        expect(new Set(seen)).toEqual(new Set(['last']));
      } finally {
        watcher.close();
      }
    },
  );

  test('write nothing either while bankql serves', async () => {
    const path = await makeStore();
    // Readers write their marks into SQLite's index file (`-shm`).
    const withoutIndex = () => filesOf(path).filter(({ name }) => !name.endsWith('-shm'));
    await inStore(urlOf(path), async (serving) => {
      await serving.begin(pending({ id: 'b'.repeat(64) }), lease);
      const before = withoutIndex();
      const { output } = await run(path, 'list', '--json');
      expect(withoutIndex()).toEqual(before);
      expect(JSON.parse(output)).toMatchObject([{ state: 'PENDING' }, { state: 'UNKNOWN' }]);
    });
  });
});

test('a finished payment stays, although the command knows a shorter retention than the bankql that serves', async () => {
  const path = freshPath();
  await inStore(urlOf(path), async (store) => {
    await store.begin(pending(), lease);
    await store.end({ id, trackId, outcome: done });
  });
  const kept = new Set<number>();
  const soon = (...args: string[]) =>
    operate(args, {
      url: urlOf(path),
      environment: { IDEMPOTENCY_TTL_DAYS: '1' },
      openStore(url, options) {
        kept.add(options.retentionMs);
        return openStore(url, options);
      },
    });
  for (const args of [
    ['list', '--id', id],
    ['show', id],
    ['list', '--state', 'done'],
  ])
    expect(await soon(...args)).toMatchObject({ code: 0, output: expect.stringContaining(id.slice(0, 12)) });
  expect(kept).toEqual(new Set([Number.MAX_SAFE_INTEGER]));
  await soon('settle', id, '--as', 'rejected', ...ada, '--yes');
  expect(await inStore(urlOf(path), (store) => store.find(id))).toMatchObject({ state: 'DONE' });
});

describe('payments backup', () => {
  test('copies what bankql has stored so far, to a file that is a store', async () => {
    const path = await makeStore();
    const copy = `${path}.copy`;
    await inStore(urlOf(path), async (serving) => {
      expect(await run(path, 'backup', copy)).toMatchObject({
        code: 0,
        output: expect.stringMatching(/^Backed up 1 payment, the newest of \S+Z to \S+\.copy\.\n$/),
        errors: '',
      });
      await serving.begin(pending({ id: 'b'.repeat(64) }), lease);
    });
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(JSON.parse((await run(copy, 'list', '--json')).output)).toMatchObject([{ id, state: 'UNKNOWN' }]);
    expect(readdirSync(dirname(path)).sort()).toEqual(['state.db', 'state.db.copy']);
  });

  test('replaces no file, and takes one file', async () => {
    const path = await makeStore();
    const file = `${path}.copy`;
    writeFileSync(file, 'precious');
    expect(await run(path, 'backup', file)).toEqual({
      code: 1,
      output: '',
      errors: `${file} exists, and is not replaced: name a file that does not exist.\n`,
    });
    expect(readFileSync(file, 'utf8')).toBe('precious');
    expect(await run(path, 'backup')).toMatchObject({
      code: 2,
      errors: expect.stringMatching(/^backup takes one file/),
    });
  });

  test('of PostgreSQL is left to its own tools', async () => {
    const url = 'postgres://bankql@127.0.0.1:1/bankql';
    expect(await operate(['backup', 'x'], { url })).toMatchObject({
      code: 1,
      errors: expect.stringContaining('pg_dump'),
    });
  });
});

/** Only root can change the owner of files. */
describe.skipIf(statSync(folder).uid !== 0)('commands of root', () => {
  test('that write leave the files to the user of the service', async () => {
    const service = 65_534;
    const path = await makeStore();
    for (const file of [dirname(path), path]) chownSync(file, service, service);
    expect(await run(path, 'settle', id, '--as', 'done', ...ada, '--yes')).toMatchObject({ code: 0 });
    expect(filesOf(path)).toMatchObject([{ name: 'state.db', uid: service, gid: service }]);
  });
});
