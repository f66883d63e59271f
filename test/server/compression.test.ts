import { once } from 'node:events';
import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type Compression, negotiateEncoding } from '../../src/server/response.ts';
import { credentials } from '../support/bankql.ts';
import { capacityLimits } from '../support/capacity-limits.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

const branches = '{ bank { branches { nodes { name } } } }';
const account = '{ bank { account(accountId: "ACC") { label } } }';
const long = 'A branch. '.repeat(300);

async function start(compression?: Compression): Promise<ServerFixture> {
  const fixture = await startServerFixture({ compression });
  fixture.bank.on('GET /v1/api/banks/BANK/branches', { body: { branches: [{ id: 'B', name: long }] } });
  fixture.bank.otherwise({ body: { id: 'ACC', label: long } });
  return fixture;
}

/** An answer as it was sent: `fetch` would inflate it. */
async function ask(fixture: ServerFixture, query: string, accepted: string | undefined, method = 'POST') {
  const target = method === 'GET' ? `${fixture.url}?${new URLSearchParams({ query })}` : fixture.url;
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json',
    ...(accepted && { 'Accept-Encoding': accepted }),
    ...credentials,
  };
  const sent = request(target, { method, headers, agent: false });
  sent.end(method === 'GET' ? undefined : JSON.stringify({ query }));
  const [answer] = await once(sent, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  return { headers: answer.headers, body, encoding: answer.headers['content-encoding'] };
}

test.each([
  [undefined, null],
  ['', null],
  ['gzip', 'gzip'],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip;q=1.0, br;q=0', 'gzip'],
  ['*', 'br'],
  ['*;q=0', null],
  ['br;q=0.000, *', 'gzip'],
  ['GZIP', 'gzip'],
  ['identity, deflate', null],
])('a client that takes %s gets %s', (accepted, expected) => {
  expect(negotiateEncoding(accepted)).toBe(expected);
});

describe('an answer', () => {
  test('of public data is compressed by default, one of the caller’s data is not', async () => {
    await using fixture = await start();
    for (const method of ['POST', 'GET']) {
      const brotli = await ask(fixture, branches, 'gzip, br', method);
      expect(brotli.encoding).toBe('br');
      expect(JSON.parse(brotliDecompressSync(brotli.body).toString()).data.bank.branches.nodes).toEqual([
        { name: long },
      ]);
      expect(brotli.headers.vary).toContain('Accept-Encoding');
      expect(Number(brotli.headers['content-length'])).toBe(brotli.body.length);
      const mixed = await ask(
        fixture,
        `{ ...A ...B } fragment A on Query ${branches} fragment B on Query ${account}`,
        'br',
        method,
      );
      expect([mixed.encoding, JSON.parse(mixed.body.toString()).data.bank.account.label]).toEqual([
        undefined,
        long,
      ]);
    }
    const zipped = await ask(fixture, branches, 'gzip');
    expect([zipped.encoding, gunzipSync(zipped.body).toString()]).toEqual([
      'gzip',
      expect.stringContaining(long),
    ]);
    // Who takes no encoding is told that others may get another.
    const plain = await ask(fixture, branches, undefined);
    expect([plain.encoding, plain.headers.vary]).toEqual([undefined, 'Accept-Encoding']);
  });

  test('is compressed whatever it holds with `on`, and never with `off`', async () => {
    await using on = await start('on');
    expect((await ask(on, account, 'br')).encoding).toBe('br');
    await using off = await start('off');
    expect((await ask(off, branches, 'br')).encoding).toBeUndefined();
  });

  test('of less than a kilobyte is sent as it is', async () => {
    await using fixture = await start('on');
    const { encoding, headers } = await ask(fixture, '{ __typename }', 'br');
    expect([encoding, headers.vary]).toEqual([undefined, undefined]);
  });

  test('that waits to be read counts as long as it is sent', async () => {
    await using fixture = await startServerFixture({
      compression: 'on',
      capacity: capacityLimits({ unread: 40_000 }),
    });
    fixture.bank.otherwise({ body: { id: 'ACC', label: long.repeat(20) } });
    expect((await ask(fixture, account, 'br')).headers['content-encoding']).toBe('br');
    expect((await ask(fixture, account, undefined)).body.toString()).toContain('OVERLOADED');
    expect(fixture.server.held.unread).toBe(0);
  });
});
