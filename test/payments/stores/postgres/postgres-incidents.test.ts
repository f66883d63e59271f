import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../../../src/payments/store.ts';
import {
  durable,
  hasPostgres,
  startPostgres,
  startStandby,
  type TestPostgres,
} from '../../../support/postgres.ts';
import { testFolder } from '../../../support/test-folder.ts';
import { openPostgres as open } from '../opened-stores.ts';
import { pending, start } from '../store-conformance.ts';

describe.skipIf(!hasPostgres)('with PostgreSQL (skipped where none is installed)', () => {
  const folder = testFolder();
  let postgres: TestPostgres;

  const idsOf = async () =>
    (await postgres.query('SELECT id FROM bankql.payment ORDER BY id')).map(({ id }) => id);

  beforeAll(async () => {
    postgres = await startPostgres(durable);
  });
  afterAll(() => postgres.stop());

  test('payments refused while a synchronous standby is silent are taken back, although their backends hold them', async () => {
    const patient = await open(postgres);
    expect(await patient.begin(pending({ id: 'before' }), start)).toBeNull();
    const store = await open(postgres, { timeoutMs: 300, startTimeoutMs: 60_000 });
    await postgres.waitForStandby();
    const ids = ['p-1', 'p-2', 'p-3', 'p-4', 'p-5'];
    try {
      for (const id of ids)
        await expect(store.begin(pending({ id }), start)).rejects.toThrow(StoreUnavailable);
      // While the standby is silent: what a backend holds is neither visible nor gone until that has ended.
      await expect.poll(idsOf).toEqual(['before']);
    } finally {
      await postgres.confirmNothing();
    }
    await expect.poll(() => store.find('p-1', start).catch(() => 'away')).toBeNull();
    for (const id of ids)
      await expect
        .poll(() =>
          store.begin(pending({ id, trackId: `again-${id}` }), start).then(
            (found) => found?.trackId ?? `again-${id}`,
            () => 'away',
          ),
        )
        .toBe(`again-${id}`);
    expect(await idsOf()).toEqual(['before', ...ids]);
  });

  test('a PostgreSQL that was restored to an earlier time while bankql was stopped is refused, with or without a witness', async () => {
    await using primary = await startPostgres(durable);
    const witness = join(folder, 'witness');
    const first = await open(primary, { witness });
    await first.begin(pending({ id: 'kept' }), start);
    await using restored = await startStandby(primary, durable);
    // What it has from here on is what a backup has.
    await restored.kill();
    await first.begin(pending({ id: 'lost' }), start);
    await first.close();
    await primary.kill();
    await restored.restart();
    await restored.query('SELECT pg_promote()');

    const store = await open(restored);
    expect(store.loss).toMatch(
      /its server changed from system \d+, timeline 1 to system \d+, timeline 2 while no bankql ran that knows what it has to hold/,
    );
    await expect(store.begin(pending({ id: 'lost', trackId: 'again' }), start)).rejects.toThrow(
      StoreUnavailable,
    );
    expect(await store.find('kept', start)).toMatchObject({ state: 'PENDING' });
    // Nobody's decision: the next start says the same.
    expect((await open(restored)).loss).toBe(store.loss);
    expect((await open(restored, { witness })).loss).toContain('knows of 2 payments');
    await store.acceptLoss('Ada: restored', start);
    expect(await store.begin(pending({ id: 'lost', trackId: 'again' }), start)).toBeNull();
    expect((await open(restored)).loss).toBeNull();
  });

  test('a failover that lost nothing is vouched for by the witness, or by a process that was there', async () => {
    await using primary = await startPostgres(durable);
    const witness = join(folder, 'vouches');
    const first = await open(primary, { witness });
    await first.begin(pending({ id: 'kept' }), start);
    await first.close();
    await using standby = await startStandby(primary, durable);
    await primary.kill();
    await standby.query('SELECT pg_promote()');
    expect((await open(standby, { witness })).loss).toBeNull();
    // It has written down which server it found everything on.
    expect((await open(standby)).loss).toBeNull();
  });
});
