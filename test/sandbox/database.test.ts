import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/sandbox/database.ts';
import { readScenario } from '../../src/sandbox/scenario.ts';
import { seedOf } from '../../src/sandbox/seed.ts';
import { testFolder } from '../support/test-folder.ts';
import { balanceOf, freshBank, payTo, recordsOf } from './bank-caller.ts';

const seed = seedOf(readScenario('standard'), Date.UTC(2026, 0, 31));

const folder = testFolder();
let file: string;
let files = 0;
beforeEach(() => {
  file = join(folder, `${++files}.db`);
});

test('a file outlives the sandbox, and is not seeded again', async () => {
  const pay = payTo('bob-current', '0.01');
  let before: string;
  {
    await using bank = await freshBank({ database: file });
    const { call } = bank;
    await call('postMakeTransaction', { ACCOUNT_ID: 'alice-current' }, { body: pay });
    await call('putBranchID', { BRANCH_ID: 'nicosia-main' }, { body: { acceptsDeposits: false } });
    before = await balanceOf(call, 'alice-current');
  }
  await using bank = await freshBank({ database: file });
  const { call } = bank;
  expect(before).toBe('4305.79');
  expect(await balanceOf(call, 'alice-current')).toBe(before);
  const branches = recordsOf('getBranches', await call('getBranches'));
  expect(branches).toHaveLength(26);
  expect(branches[0]).toEqual({ id: 'nicosia-main', acceptsDeposits: false });
  const next = await call('postMakeTransaction', { ACCOUNT_ID: 'alice-current' }, { body: pay });
  expect(next.json).toEqual({ id: 'tx-0235', status: 'COMPLETED' });
});

test('a seed that fails leaves an empty file, which the next start fills', () => {
  const broken = () => {
    throw new Error('no');
  };
  expect(() => openDatabase(file, broken)).toThrow('no');
  const database = openDatabase(file, seed);
  expect(database.customers.all()).toHaveLength(5);
  database.close();
});

test('a file that cannot be one of a sandbox is refused with what to give', async () => {
  await writeFile(file, 'a letter, much longer than the first bytes of a database'.repeat(20));
  for (const path of [file, join(folder, 'none', 'bank.db')])
    expect(() => openDatabase(path, seed)).toThrow(
      expect.objectContaining({ name: 'SandboxError', message: expect.stringMatching(/^give a file of a/) }),
    );
});

test('a file of another version is refused, and stays as it is', async () => {
  const db = new DatabaseSync(file);
  db.exec('PRAGMA user_version = 99');
  db.close();
  const before = await readFile(file);
  expect(() => openDatabase(file, seed)).toThrow(
    'it is no sandbox database of version 2, but of version 99: move it away or delete it.',
  );
  expect(await readFile(file)).toEqual(before);
});

test('what throws within a database transaction is undone, numbers too', () => {
  const database = openDatabase(':memory:', seed);
  const first = database.nextId('thing');
  expect(() =>
    database.atomically(() => {
      database.nextId('thing');
      database.messages.put('alice', null, { message: 'half' });
      throw new Error('undo');
    }),
  ).toThrow('undo');
  expect(database.messages.of('alice')).toHaveLength(3);
  expect([first, database.nextId('thing')]).toEqual(['thing-0001', 'thing-0002']);
  database.close();
});
