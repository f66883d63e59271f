import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { pending } from '../../payments/store/store-conformance.ts';
import { ada, inStore, operate } from '../../support/operate.ts';
import { durable, hasPostgres, startPostgres, type TestPostgres } from '../../support/postgres.ts';
import { testFolder } from '../../support/test-folder.ts';

const folder = testFolder();
const log = join(folder, 'audit.log');

describe.skipIf(!hasPostgres)('with PostgreSQL (skipped where none is installed)', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres(durable);
  });
  beforeEach(() => postgres.empty());
  afterAll(() => postgres.stop());

  const run = (args: readonly string[], answer?: string) => operate(args, { url: postgres.url, answer });
  const begin = (id: string) =>
    inStore(postgres.url, (store) => store.begin(pending({ id, trackId: `track-${id}` }), 120_000));
  const rows = () => postgres.query('SELECT id, state FROM bankql.payment ORDER BY id');

  test.each([
    ['another server', "UPDATE bankql.store SET system_identifier = '1'", /its server changed from system 1/],
    ['a store that lost its row', 'DELETE FROM bankql.store', /its row in bankql\.store is missing/],
  ])('%s: accept-loss records what a log names, before payments go on', async (_, change, loss) => {
    await run(['init']);
    await begin('a');
    await begin('b');
    const audit = await inStore(postgres.url, (store) => store.search({}));
    writeFileSync(
      log,
      audit
        .map(({ history: _history, ...record }) => `${JSON.stringify({ audit: 'payment', ...record })}\n`)
        .join(''),
    );
    await postgres.query("DELETE FROM bankql.payment WHERE id = 'b'");
    await postgres.query(change);
    await expect(begin('c')).rejects.toThrow(loss);
    expect(await run(['list'])).toMatchObject({ code: 0 });

    const args = ['accept-loss', '--from-log', log, ...ada];
    const refused = await run(args, 'no');
    expect(refused).toMatchObject({
      code: 1,
      errors: 'Nothing was written.\n',
      asked: ['Record this payment as UNKNOWN, whatever the log says, and let payments go on? [yes/no] '],
    });
    expect(refused.output).toMatch(loss);
    expect(await rows()).toHaveLength(1);
    await expect(begin('c')).rejects.toThrow(loss);

    const { code, output } = await run(args, 'yes');
    expect(code).toBe(0);
    expect(output).toContain('Recorded 1 payment as UNKNOWN, by Ada: incident 4711\n');
    expect(output).toContain('Payments go on, by Ada: incident 4711\n');
    expect(await begin('b')).toMatchObject({ state: 'UNKNOWN', trackId: 'track-b' });
    expect(await begin('c')).toBeNull();
    expect(await postgres.query('SELECT loss_accepted_by FROM bankql.store')).toEqual([
      { loss_accepted_by: 'Ada: incident 4711' },
    ]);
  });

  test('without a log, accept-loss says what that means, and asks', async () => {
    await run(['init']);
    await postgres.query("UPDATE bankql.store SET system_identifier = '1'");
    const { code, asked } = await run(['accept-loss', ...ada], 'yes');
    expect([code, asked]).toEqual([0, ['Let payments go on without the lost records? [yes/no] ']]);
    expect(await begin('a')).toBeNull();
  });
});
