import { onTestFinished } from 'vitest';
import type { NewRow, StoreDriver } from '../../../../src/payments/store/driver.ts';
import {
  createPostgresDriver,
  type PostgresDriverOptions,
} from '../../../../src/payments/store/postgres/postgres-driver.ts';
import type { TestPostgres } from '../../../support/postgres.ts';
import { retentionMs } from '../store-conformance.ts';

type Server = Pick<TestPostgres, 'address'>;

/** A driver without time limits for the server. */
export const connectDriver = ({ address }: Server, change: Partial<PostgresDriverOptions> = {}) =>
  createPostgresDriver({
    address: { ...address, connectionTimeoutMillis: change.statementTimeoutMs ?? 60_000 },
    retentionMs,
    statementTimeoutMs: 60_000,
    startTimeoutMs: 60_000,
    ...change,
  });

/** A driver for one test, which is closed after the test. */
export async function openDriver(
  server: Server,
  change?: Partial<PostgresDriverOptions>,
): Promise<StoreDriver> {
  const driver = await connectDriver(server, change);
  // The test may have closed the driver already.
  onTestFinished(() => driver.close().catch(() => {}));
  return driver;
}

/** A row as it is inserted for a new payment. */
export const newRow = (id: string, change: Partial<NewRow> = {}): NewRow => ({
  id,
  version: 'v-1',
  caller: 'c',
  payer: 'p',
  state: 'PENDING',
  track_id: `t-${id}`,
  request_id: null,
  account_id: 'a',
  to_account_id: null,
  json: '{}',
  lease_ms: 120_000,
  ...change,
});

/** A change of a row. */
export const changed = (version: string) => ({ version, state: 'DONE', json: '{"done":1}' }) as const;
