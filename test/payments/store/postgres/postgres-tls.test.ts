import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { initStore, openStore } from '../../../../src/payments/store/open-store.ts';
import { clientOptions, parsePostgresUrl } from '../../../../src/payments/store/postgres/address.ts';
import { connectError, openError } from '../../../../src/payments/store/postgres/postgres-server.ts';
import { type Certificates, createCertificates, hasOpenssl } from '../../../support/certificates.ts';
import { durable, hasPostgres, startPostgres, type TestPostgres } from '../../../support/postgres.ts';
import { retentionMs } from '../store-conformance.ts';

/** The permitted connections: the tests themselves; `bankql` encrypted and with a password; `app` with a certificate. */
const access = `
  local all postgres trust
  hostssl bankql app 127.0.0.1/24 cert
  hostssl bankql bankql 127.0.0.1/24 scram-sha-256
  local bankql bankql scram-sha-256
`;
const password = 'p@ss w/rd%';
const who = `bankql:${encodeURIComponent(password)}`;

describe.skipIf(!hasPostgres || !hasOpenssl)(
  'with PostgreSQL and TLS (skipped where one of them, or openssl, is not installed)',
  () => {
    let certificates: Certificates;
    let postgres: TestPostgres;

    const urlOf = (parameters: string, host = `127.0.0.1:${postgres.port}`) =>
      `postgres://${who}@${host}/bankql${parameters}`;

    /** The server's view of a connection: whether it is encrypted, and whose certificate it has. */
    async function connect(url: string): Promise<unknown> {
      const address = parsePostgresUrl(url) ?? expect.fail();
      const client = new Client(await clientOptions(address));
      client.on('error', () => {});
      try {
        await client.connect();
        const seen = 'SELECT ssl, client_dn AS dn FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
        return (await client.query(seen)).rows[0];
      } catch (error) {
        throw openError(connectError(error, address), address);
      } finally {
        await client.end();
      }
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
        /cannot be used: its certificate is not accepted: .*127\.0\.0\.2/,
      );
      // The authority is not one of Node's.
      await expect(connect(urlOf('?sslmode=verify-full'))).rejects.toThrow(/sslrootcert in STATE_URL/);
      await expect(connect(urlOf('?sslmode=verify-full&sslrootcert=system'))).rejects.toThrow(/not accepted/);
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

    test('channel binding works, and verifies the certificate if it is required', async () => {
      const authority = `sslrootcert=${certificates.ca}`;
      expect(await connect(urlOf(`?channel_binding=require&sslmode=verify-full&${authority}`))).toMatchObject(
        { ssl: true },
      );
      expect(await connect(urlOf('?channel_binding=prefer&sslmode=require'))).toMatchObject({ ssl: true });
      await expect(connect(urlOf('?channel_binding=require&sslmode=require'))).rejects.toThrow(
        /not accepted/,
      );
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
      const parameters = `?host=${folder}&port=${postgres.port}&sslmode=verify-full`;
      expect(await connect(urlOf(parameters, ''))).toEqual({ ssl: false, dn: null });
    });

    test('a wrong password, none, or a file that is missing stops the start, and no password is shown', async () => {
      const root = `sslmode=verify-full&sslrootcert=${certificates.ca}`;
      const start = (user: string, parameters = root) =>
        openStore(`postgres://${user}@127.0.0.1:${postgres.port}/bankql?${parameters}`, { retentionMs });
      const wrong = await start('bankql:wr0ng').catch(String);
      expect(wrong).toMatch(/cannot be used: password authentication failed for user "bankql"/);
      expect(wrong).not.toContain('wr0ng');
      await expect(start('bankql')).rejects.toThrow(/it asks for a password, and STATE_URL has none/);
      await expect(start('bankql:x', 'sslrootcert=/none/ca.pem')).rejects.toThrow(
        /cannot be used: a file of STATE_URL cannot be used: ENOENT.*\/none\/ca\.pem/,
      );
    });

    test('a store is made and opened with its password, over TLS', async () => {
      const url = urlOf(`?sslmode=verify-full&sslrootcert=${certificates.ca}`);
      await initStore(url);
      const store = await openStore(url, { retentionMs });
      expect(await store.count()).toMatchObject({ newestAt: null });
      await store.close();
    });
  },
);
