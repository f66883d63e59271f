import { beforeEach, expect, test } from 'vitest';
import { validateViewerTemplate } from '../../src/schema/viewer-template.ts';
import { credentials } from '../support/bankql.ts';
import { postOf } from '../support/requests.ts';
import { shareServerFixture, startServerFixture } from '../support/server-fixture.ts';

/** Promise 6: HTTP caches may keep public data only. */

const branches = '{ bank { branches { totalCount } } }';

const fixture = await shareServerFixture({
  publicMaxAgeSeconds: 60,
  explains: true,
  defaults: {
    bankId: 'BANK',
    viewId: 'owner',
    viewer: { customerId: validateViewerTemplate('{auth-id}-C'), accountId: null },
  },
  http: { corsOrigins: new Set(['https://app.example']), onlyLocalNames: false },
});
beforeEach(() => {
  fixture.bank.otherwise({ body: { id: 'ACC', label: 'L' } });
  fixture.bank.on('GET /v1/api/banks/BANK/branches', { body: { branches: [] } });
});

const get = (query: string, headers: Record<string, string> = {}) =>
  fetch(`${fixture.url}?${new URLSearchParams({ query })}`, { headers: { ...credentials, ...headers } });

test('the answer to a GET of public data alone may be cached by anybody', async () => {
  const { headers } = await get(branches);
  expect(headers.get('cache-control')).toBe('public, max-age=60');
  expect(headers.get('vary')).toBe(
    'Origin, Accept, Authorization, Ocp-Apim-Subscription-Key, x-bankql-explain',
  );
  expect(headers.get('etag')).toBeNull();
});

test('public data in the answer to a request with a token may be cached by its own client only', async () => {
  await using server = await startServerFixture({
    publicMaxAgeSeconds: 60,
    // Every token is accepted for the same caller.
    authenticate: () => ({ subscriptionKey: 'key', authProviderName: 'p', authId: 'a' }),
  });
  server.bank.on('GET /v1/api/banks/BANK/branches', { body: { branches: [] } });
  const answer = await fetch(`${server.url}?${new URLSearchParams({ query: branches })}`, {
    headers: { Authorization: 'Bearer token' },
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('cache-control')).toBe('private, max-age=60');
  expect(answer.headers.get('vary')).toContain('Authorization');
});

test.each<[string, () => Promise<Response>]>([
  ['the caller’s data', () => get('{ bank { account(accountId: "ACC") { label } } }')],
  [
    'data of the caller and public data',
    () => get('{ bank { branches { totalCount } account(accountId: "ACC") { label } } }'),
  ],
  [
    'the caller’s payments',
    () => get('{ payments(first: 1) { totalCount } bank { branches { totalCount } } }'),
  ],
  ['one payment', () => get('{ payment(idempotencyKey: "k") { state } bank { branches { totalCount } } }')],
  [
    'who the caller is, which costs no call',
    () => get('{ viewer { customer { customerId } } bank { branches { totalCount } } }'),
  ],
  ['the calls that were made', () => get(branches, { 'x-bankql-explain': 'calls' })],
  ['nothing of the bank', () => get('{ __typename }')],
  ['only ids', () => get('{ bank { bankId } }')],
  [
    'an error',
    () => {
      fixture.bank.on('GET /v1/api/banks/BANK/branches', { status: 500 });
      return get(branches);
    },
  ],
  ['an invalid query', () => get('{')],
  ['public data, to a POST', () => fetch(fixture.url, postOf({ query: branches }))],
  ['public data, in an event stream', () => get(branches, { Accept: 'text/event-stream' })],
])('an answer with %s may not be cached', async (_what, ask) => {
  const { headers, status } = await ask();
  expect(status).toBeLessThan(500);
  expect(headers.get('cache-control')).toBe('no-store');
});
