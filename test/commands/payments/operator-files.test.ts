import {
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createMarkWriter } from '../../../src/payments/high-water-mark.ts';
import type { PaymentStore } from '../../../src/payments/store.ts';
import { unwrittenEndEntry } from '../../../src/payments/unwritten-ends.ts';
import {
  done,
  lease,
  pending,
  retentionMs,
  start,
  unknown,
} from '../../payments/stores/store-conformance.ts';
import { inSqliteStore, operate } from '../../support/operate.ts';
import { testFolder } from '../../support/test-folder.ts';

/** What an operator's commands leave in the files of a store that the service of another user writes. */

const folder = testFolder();

let stores = 0;
async function makeStore() {
  const home = join(folder, `${++stores}`);
  mkdirSync(home);
  const path = join(home, 'state.db');
  const { id, trackId } = pending();
  await inSqliteStore(path, async (store) => {
    await store.begin(pending(), start);
    await store.end({ id, trackId, outcome: unknown });
    await store.begin(
      pending({ id: 'b'.repeat(64), trackId: 'attempt-2', leaseUntil: start + lease }),
      start,
    );
  });
  return { home, path };
}

async function run(path: string, args: readonly string[], more: { witness?: string } = {}) {
  const state = { url: `sqlite:${path}`, retentionMs, ...more };
  const { code, output, errors } = await operate(args, { state, now: start + 2 * lease });
  return { code, output: output + errors };
}

/** Each file with its owner, mode and content. */
const filesOf = (home: string) =>
  readdirSync(home)
    .sort()
    .map((name) => {
      const { uid, gid, mode, mtimeMs } = statSync(join(home, name));
      return { name, uid, gid, mode, mtimeMs, content: readFileSync(join(home, name)).toString('base64') };
    });

describe('looking at payments', () => {
  test.each([
    ['list'],
    ['list', '--state', 'unknown,pending,done'],
    ['find', '--account', 'alice-current'],
    ['show', pending().id],
  ])('writes nothing: %s', async (...args) => {
    const { home, path } = await makeStore();
    const before = filesOf(home);
    expect(await run(path, args)).toMatchObject({ code: 0 });
    expect(filesOf(home)).toEqual(before);
  });

  test('writes nothing either while bankql serves, and shows a payment whose lease is over as UNKNOWN', async () => {
    const { home, path } = await makeStore();
    const withoutIndex = () =>
      filesOf(home).filter(({ name }) => !name.endsWith('-shm') && !name.includes('.mark'));
    const output = await inSqliteStore(path, async (serving) => {
      await serving.begin(pending({ id: 'c'.repeat(64), trackId: 'attempt-3' }), start);
      const before = withoutIndex();
      const listed = await run(path, ['list', '--json']);
      expect(withoutIndex()).toEqual(before);
      return listed.output;
    });
    expect(
      JSON.parse(output)
        .map(({ id, state }: { id: string; state: string }) => [id[0], state])
        .sort(),
    ).toEqual([
      ['a', 'UNKNOWN'],
      ['b', 'UNKNOWN'],
      ['c', 'UNKNOWN'],
    ]);
  });
});

describe('a finished payment that is older than what the command knows of IDEMPOTENCY_TTL_DAYS', () => {
  const day = 86_400_000;
  const { id, trackId } = pending();
  const served = 365 * day;

  /** The store of a bankql that keeps payments for a year, with one that was done 40 days ago; the time now. */
  async function makeOldPayment() {
    const path = join(folder, `${++stores}.db`);
    const now = Date.now();
    const at = now - 40 * day;
    await inSqliteStore(
      path,
      async (store) => {
        await store.begin(pending({ createdAt: at, leaseUntil: at + lease }), now);
        await store.end({ id, trackId, outcome: done });
      },
      served,
    );
    const runNow = (args: readonly string[]) =>
      operate(args, { state: { url: `sqlite:${path}`, retentionMs: 30 * day }, now });
    return { path, now, at, runNow };
  }

  test('is found and shown', async () => {
    const { runNow } = await makeOldPayment();
    for (const args of [
      ['find', '--id', id],
      ['show', id],
      ['list', '--state', 'done'],
    ])
      expect(await runNow(args)).toMatchObject({ code: 0, output: expect.stringContaining(id.slice(0, 12)) });
  });

  test('is not deleted: its key stays used', async () => {
    const { path, now, at, runNow } = await makeOldPayment();
    const log = join(folder, `${stores}.log`);
    const unwritten = unwrittenEndEntry(pending({ createdAt: at }), { id, trackId, outcome: done });
    writeFileSync(log, `${JSON.stringify({ audit: 'payment', ...unwritten })}\n`);
    expect(await runNow(['settle', '--from-log', log, '--yes'])).toMatchObject({
      errors: expect.stringContaining('is DONE there already, and stays so.'),
    });
    await runNow(['settle', id, '--as', 'rejected', '--by', 'Ada', '--reason', 'x']);
    const begin = (store: PaymentStore) => store.begin(pending({ trackId: 'again' }), now);
    expect(await inSqliteStore(path, begin, served)).toMatchObject({
      trackId,
      state: 'DONE',
    });
  });
});

/** Only root can give files away. */
describe.skipIf(statSync(folder).uid !== 0)('commands of root', () => {
  const service = 65_534;
  const giveAway = (home: string) => {
    for (const name of ['', ...readdirSync(home)]) chownSync(join(home, name), service, service);
  };
  const owners = (home: string) => new Set(filesOf(home).map(({ uid, gid }) => `${uid}:${gid}`));

  test('that write keep the owner and the mode of what they replace', async () => {
    const { home, path } = await makeStore();
    const witness = join(home, 'witness');
    writeFileSync(witness, readFileSync(`${path}.mark`), { mode: 0o640 });
    giveAway(home);
    const settled = await run(
      path,
      ['settle', pending().id, '--as', 'done', '--by', 'Ada', '--reason', 'x'],
      { witness },
    );
    expect(settled).toMatchObject({ code: 0 });
    expect(owners(home)).toEqual(new Set([`${service}:${service}`]));
    expect(statSync(witness).mode & 0o777).toBe(0o640);
    expect(statSync(`${path}.mark`).mode & 0o777).toBe(0o600);
  });

  test('restore for the service', async () => {
    const { home, path } = await makeStore();
    const backup = join(folder, `${stores}.backup`);
    expect(await run(path, ['backup', backup])).toMatchObject({ code: 0 });
    giveAway(home);
    expect(await run(path, ['restore', backup, '--by', 'Ada', '--yes'])).toMatchObject({ code: 0 });
    expect(owners(home)).toEqual(new Set([`${service}:${service}`]));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });
});

describe('drafts of a mark', () => {
  test('that a killed process left are removed, those of others and other files stay', async () => {
    const home = join(folder, 'drafts');
    mkdirSync(home);
    const names = [
      'state.db.mark.0123abcd',
      'state.db.mark.89abcdef',
      'state.db.mark.backup',
      'other.mark.0123abcd',
    ];
    for (const name of names) {
      writeFileSync(join(home, name), '');
      if (name !== 'state.db.mark.89abcdef') utimesSync(join(home, name), 1, 1);
    }
    const writer = createMarkWriter(join(home, 'state.db.mark'), (reason) => expect(reason).toBeNull());
    await writer({ storeId: 'store', began: 1, newestAt: start });
    expect(readdirSync(home).sort()).toEqual([
      'other.mark.0123abcd',
      'state.db.mark',
      'state.db.mark.89abcdef',
      'state.db.mark.backup',
    ]);
  });
});
