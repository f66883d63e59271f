import { once } from 'node:events';
import { get, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { shareServerFixture, startServerFixture } from '../../support/server-fixture.ts';

/** GraphiQL's page and its files as they are sent. page.test.ts tests them in a browser. */

const fixture = await shareServerFixture({ graphiql: { headers: null } });

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The answer to a GET, without decoding. */
async function ask(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  const request = get(url, { headers });
  const [response] = await once(request, 'response');
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
}

const page = () => ask(fixture.url, { Accept: 'text/html' });

/** The addresses in the page's elements. */
const filesOf = ({ body }: Answer) =>
  [...body.toString().matchAll(/(?:href|src)="([^"]+)"/g)].map(
    ([, path = '']) => new URL(path, fixture.url).href,
  );

async function script(): Promise<string> {
  const found = filesOf(await page()).find((url) => url.endsWith('/graphiql.js'));
  return found ?? expect.fail('the page names no graphiql.js');
}

describe('the page', () => {
  test('runs only files of this server: no inline script, no eval, no blob, no other host', async () => {
    const { status, headers, body } = await page();
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers['cache-control']).toBe('no-cache');
    const policy = String(headers['content-security-policy']);
    expect(policy.split('; ')).toContain("script-src 'self'");
    expect(policy.split('; ')).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe-eval|blob:|https?:|\*/);
    expect(body.toString()).toContain('<meta name="viewport" content="width=device-width, initial-scale=1"');
    expect(body.toString()).not.toMatch(/<script>| on\w+="/);
  });

  test('is not sent to a GraphQL client, whose answers have no policy for pages', async () => {
    const answer = await ask(`${fixture.url}?query={__typename}`, { 'Ocp-Apim-Subscription-Key': 'k' });
    expect(answer.body.toString()).toBe('{"data":{"__typename":"Query"}}');
    expect(answer.headers['content-security-policy']).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(answer.headers['cache-control']).toBe('no-store');
  });
});

describe('its files', () => {
  test('are complete, and may be cached for ever under the hash of their content', async () => {
    const urls = filesOf(await page());
    expect(urls.length).toBe(5);
    for (const url of urls) {
      const { status, headers, body } = await ask(url);
      expect([url, status]).toEqual([url, 200]);
      expect(url).toMatch(/\/graphql\/graphiql-[0-9a-f]{16}\/[\w.]+$/);
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(headers['content-security-policy']).toBe("default-src 'none'; frame-ancestors 'none'");
      expect(headers['content-length']).toBe(String(body.length));
    }
  });

  test('are compressed for a client that takes gzip', async () => {
    const url = await script();
    const [plain, zipped] = [await ask(url), await ask(url, { 'Accept-Encoding': 'br, gzip;q=0.8' })];
    expect([plain.headers['content-encoding'], zipped.headers['content-encoding']]).toEqual([
      undefined,
      'gzip',
    ]);
    expect(zipped.headers.vary).toBe('Accept-Encoding');
    expect(zipped.body.length).toBeLessThan(plain.body.length * 0.3);
    expect(gunzipSync(zipped.body).equals(plain.body)).toBe(true);
  });

  test('are not compressed for a client that refuses it', async () => {
    const { headers } = await ask(await script(), { 'Accept-Encoding': 'br;q=0, gzip;q=0' });
    expect(headers['content-encoding']).toBeUndefined();
  });

  test.each(['graphiql-0000000000000000/main.js', 'HASH/nothing.js'])('do not include %s', async (name) => {
    const folder = /graphiql-\w+/.exec(await script())?.[0] ?? '';
    const { status, headers } = await ask(`${fixture.url}/${name.replace('HASH', folder)}`);
    expect([status, headers['cache-control']]).toEqual([404, 'no-store']);
  });
});

test('a server with GraphiQL switched off has neither the page nor its files', async () => {
  await using closed = await startServerFixture();
  const path = new URL(await script()).pathname;
  for (const url of [closed.url, new URL(path, closed.url).href]) {
    const { body } = await ask(url, { Accept: 'text/html' });
    expect(body.toString()).not.toMatch(/graphiql/i);
  }
});
