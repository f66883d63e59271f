import { describe, expect, test } from 'vitest';
import { postOf } from '../support/requests.ts';
import { shareServerFixture, startServerFixture } from '../support/server-fixture.ts';

/** Promise 18: pages of other origins may call bankql only if their origin is listed. */

const fixture = await shareServerFixture({
  http: { corsOrigins: new Set(['https://app.example']), onlyLocalNames: false },
});

const query = JSON.stringify({ query: '{ __typename }' });

describe('CORS', () => {
  const preflight = (origin: string, asked = 'auth-id,content-type') =>
    fetch(fixture.url, {
      method: 'OPTIONS',
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': asked,
      },
    });
  const corsHeaders = ({ headers }: Response) =>
    [...headers.keys()].filter((name) => name.startsWith('access-control'));

  test('allows listed origins, without cookies', async () => {
    const { headers, status } = await preflight('https://app.example');
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(headers.get('access-control-allow-headers')).toBe('auth-id,content-type');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('vary')).toBe('Origin, Access-Control-Request-Headers');
    // Some browsers write the host of an extension in upper case.
    for (const origin of ['https://app.example', 'https://App.Example']) {
      const answer = await fetch(fixture.url, postOf(query, { Origin: origin }));
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    }
    expect((await preflight('HTTPS://APP.EXAMPLE')).status).toBe(204);
  });

  test('allows pages of listed origins to send headers of tracers', async () => {
    const asked = 'baggage,content-type,sentry-trace,traceparent';
    const { headers } = await preflight('https://app.example', asked);
    expect(headers.get('access-control-allow-headers')).toBe(asked);
  });

  test.each(['https://evil.example', 'https://app.example.evil.example', 'http://app.example', 'null'])(
    'refuses any other origin: %s',
    async (origin) => {
      const refused = await preflight(origin);
      expect(corsHeaders(refused)).toEqual([]);
      // Developers see the reason in their browser's network panel, and operators see it in the log, once.
      expect(refused.status).toBe(403);
      expect(await refused.json()).toMatchObject({
        errors: [{ message: expect.stringContaining('CORS_ORIGINS'), extensions: { code: 'FORBIDDEN' } }],
      });
      await preflight(origin);
      const logged = fixture.log.filter((line) => line.includes(`"origin":"${origin}"`));
      expect(logged).toEqual([expect.stringContaining('pages of this origin may not call')]);
      const answer = await fetch(fixture.url, postOf(query, { Origin: origin }));
      expect(corsHeaders(answer)).toEqual([]);
    },
  );
});

test('the log names a refused origin once, and again when 20 others were refused after it', async () => {
  await using fresh = await startServerFixture();
  const headers = { 'Access-Control-Request-Method': 'POST' };
  const ask = (origin: string) =>
    fetch(fresh.url, { method: 'OPTIONS', headers: { ...headers, Origin: origin } });
  const named = (origin: string) => fresh.log.filter((line) => line.includes(`"origin":"${origin}"`)).length;
  for (let number = 0; number < 25; number++) await ask(`https://invented-${number}.example`);
  for (let time = 0; time < 2; time++) await ask('https://developer.example');
  expect(named('https://developer.example')).toBe(1);
  await ask('https://invented-0.example');
  expect(named('https://invented-0.example')).toBe(2);
});
