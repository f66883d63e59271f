import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../../../src/payments/stores/open-store.ts';
import { parsePostgresUrl } from '../../../../src/payments/stores/postgres/address.ts';
import { openConnection, ServerNotReady } from '../../../../src/payments/stores/postgres/connection.ts';
import { setUpSession } from '../../../../src/payments/stores/postgres/session.ts';
import { type Certificates, createCertificates, hasOpenssl } from '../../../support/certificates.ts';
import { durable, hasPostgres, startPostgres, type TestPostgres } from '../../../support/postgres.ts';
import { retentionMs } from '../store-conformance.ts';

/** Who may come, and how: the tests themselves; `bankql` encrypted and with a password; `app` by a certificate. */
const access = `
  local all postgres trust
  hostssl bankql app 127.0.0.1/24 cert
  hostssl bankql bankql 127.0.0.1/24 scram-sha-256
  local bankql bankql scram-sha-256
`;
const password = 'p@ss w/rd%';
const who = `bankql:${encodeURIComponent(password)}`;
const limits = { timeoutMs: 60_000, connectTimeoutMs: 60_000 };

test('a server that is reached and says nothing is not ready', async () => {
  await using silent = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const address = parsePostgresUrl(`postgres://bankql@127.0.0.1:${port}/bankql`) ?? expect.fail();
  const host = address.hosts[0] ?? expect.fail();
  const opened = openConnection(address, host, { timeoutMs: 100, connectTimeoutMs: 100 });
  await expect(opened).rejects.toThrow(new ServerNotReady('no answer in 100 ms'));
});

describe.skipIf(!hasPostgres || !hasOpenssl)(
  'with PostgreSQL and TLS (skipped where one of them, or openssl, is not installed)',
  () => {
    let certificates: Certificates;
    let postgres: TestPostgres;

    const urlOf = (parameters: string, host = `127.0.0.1:${postgres.port}`) =>
      `postgres://${who}@${host}/bankql${parameters}`;

    /** How the server sees a connection: whether it is encrypted, and by whose certificate. */
    async function connect(url: string): Promise<unknown> {
      const address = parsePostgresUrl(url);
      const [host] = address?.hosts ?? [];
      if (address === null || host === undefined) throw new Error(url);
      const connection = await openConnection(address, host, limits);
      const seen = 'SELECT ssl, client_dn AS dn FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
      const { rows } = await connection.query({ text: seen });
      connection.end();
      return rows[0];
    }

    beforeAll(async () => {
      certificates = await createCertificates();
      postgres = await startPostgres(durable);
      await postgres.query(`ALTER ROLE bankql PASSWORD '${password}'; CREATE ROLE app LOGIN`);
      const { ca, server } = certificates;
      for (const [name, file] of [
        ['ca.pem', ca],
        ['server.pem', server.cert],
        ['server.key', server.key],
      ] as const)
        await postgres.write(name, await readFile(file, 'utf8'));
      await postgres.write('pg_hba.conf', access);
      await postgres.kill();
      await postgres.restart({
        listen_addresses: '127.0.0.1,127.0.0.2',
        ssl: 'on',
        ssl_ca_file: 'ca.pem',
        ssl_cert_file: 'server.pem',
        ssl_key_file: 'server.key',
      });
    });
    afterAll(async () => {
      await postgres.stop();
      await certificates[Symbol.asyncDispose]();
    });

    test('verify-full takes the certificate of the host’s own name, vouched for by the given authority', async () => {
      const parameters = `?sslmode=verify-full&sslrootcert=${certificates.ca}`;
      expect(await connect(urlOf(parameters))).toEqual({ ssl: true, dn: null });
      await expect(connect(urlOf(parameters, `127.0.0.2:${postgres.port}`))).rejects.toThrow(
        /its certificate is not accepted: .*127\.0\.0\.2/,
      );
      // The authority is not one that Node knows.
      await expect(connect(urlOf('?sslmode=verify-full'))).rejects.toThrow(/sslrootcert in STATE_URL/);
    });

    test('verify-ca does not look at the name', async () => {
      const other = `127.0.0.2:${postgres.port}`;
      expect(await connect(urlOf(`?sslmode=verify-ca&sslrootcert=${certificates.ca}`, other))).toMatchObject({
        ssl: true,
      });
      await expect(connect(urlOf('?sslmode=verify-ca', other))).rejects.toThrow(/not accepted/);
    });

    test('require encrypts, and takes any certificate unless an authority is given', async () => {
      expect(await connect(urlOf('?sslmode=require'))).toMatchObject({ ssl: true });
      const { cert } = await certificates.client('nobody');
      await expect(connect(urlOf(`?sslmode=require&sslrootcert=${cert}`))).rejects.toThrow(/not accepted/);
    });

    test('a client certificate says who asks', async () => {
      const { cert, key } = await certificates.client('app');
      const parameters = `?sslmode=verify-full&sslrootcert=${certificates.ca}&sslcert=${cert}&sslkey=${key}`;
      expect(await connect(`postgres://app@127.0.0.1:${postgres.port}/bankql${parameters}`)).toEqual({
        ssl: true,
        dn: '/CN=app',
      });
    });

    test('a server that wants encryption refuses a connection without it', async () => {
      await expect(connect(urlOf('?sslmode=disable'))).rejects.toThrow(
        /no pg_hba\.conf entry .*no encryption/,
      );
    });

    test('goes through a Unix socket, unencrypted whatever sslmode says', async () => {
      const folder = postgres.socketFolder;
      const inUrl = `${encodeURIComponent(folder)}:${postgres.port}`;
      expect(await connect(urlOf('', inUrl))).toEqual({ ssl: false, dn: null });
      expect(await connect(urlOf(`?host=${folder}:${postgres.port}&sslmode=verify-full`, ''))).toEqual({
        ssl: false,
        dn: null,
      });
    });

    test('a wrong password, or none, stops the start, and is not shown', async () => {
      const parameters = `/bankql?sslmode=verify-full&sslrootcert=${certificates.ca}`;
      const start = (who: string) =>
        openStore(`postgres://${who}@127.0.0.1:${postgres.port}${parameters}`, {
          timeoutMs: 60_000,
          retentionMs,
        });
      const wrong = await start('bankql:wr0ng').catch(String);
      expect(wrong).toMatch(/cannot be used: password authentication failed for user "bankql"/);
      expect(wrong).not.toContain('wr0ng');
      await expect(start('bankql')).rejects.toThrow(/it asks for a password, and STATE_URL has none/);
    });

    test('a store is opened with its password, over TLS', async () => {
      const url = urlOf(`?sslmode=verify-full&sslrootcert=${certificates.ca}`);
      const store = await openStore(url, { timeoutMs: 60_000, retentionMs });
      expect(await store.status(Date.now())).toMatchObject({ records: 0 });
      await store.close();
    });

    test('a session that hangs within a transaction is ended by the server, and what it has locked is free', async () => {
      const address = parsePostgresUrl(urlOf('?sslmode=require')) ?? expect.fail();
      const [host] = address.hosts;
      if (host === undefined) expect.fail();
      const hanging = await openConnection(address, host, limits);
      await setUpSession(hanging, limits.timeoutMs);
      const setting = "current_setting('idle_in_transaction_session_timeout')";
      expect((await hanging.query({ text: `SELECT ${setting} AS limit` })).rows).toEqual([{ limit: '10s' }]);
      await hanging.query({ text: "SET idle_in_transaction_session_timeout = '300ms'" });
      await hanging.query({ text: 'BEGIN' });
      await hanging.query({ text: 'SELECT pg_advisory_xact_lock(1)' });
      const next = await openConnection(address, host, limits);
      await next.query({ text: 'SELECT pg_advisory_xact_lock(1)' });
      expect(await hanging.lost).toEqual({
        reason: expect.stringContaining('idle-in-transaction timeout'),
        wasBusy: false,
      });
      await expect(hanging.query({ text: 'COMMIT' })).rejects.toThrow('idle-in-transaction timeout');
      next.end();
    });
  },
);
