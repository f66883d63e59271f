import { Client, cacheExchange, fetchExchange, gql } from '@urql/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { credentials } from '../support/bankql.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

/** What urql shows of an operation with @defer and @stream, and when, with what it sends of itself. */

let fixture: ServerFixture;
let release: () => void;
beforeEach(async () => {
  fixture = await startServerFixture();
  const { promise, resolve } = Promise.withResolvers<void>();
  release = resolve;
  fixture.bank
    .on('GET /v1/api/banks/BANK/accounts/a/owner/views', async () => {
      await promise;
      return { body: { accounts: [{ id: 'a', label: 'Current', owners: [] }] } };
    })
    .on('GET /v1/api/banks/BANK/accounts/a/owner/other_accounts', {
      body: { other_accounts: ['x', 'y'].map((id) => ({ id })) },
    });
});
afterEach(async () => {
  release();
  await fixture[Symbol.asyncDispose]();
});

const query = gql`
  query {
    bank {
      account(accountId: "a", viewId: "owner") {
        ... @defer {
          label
        }
        otherAccounts {
          nodes @stream(initialCount: 1) {
            otherAccountId
          }
        }
      }
    }
  }
`;

test('each result is shown as it comes', async () => {
  const accepted: string[] = [];
  const client = new Client({
    url: fixture.url,
    preferGetMethod: false,
    fetchOptions: { headers: credentials },
    fetch: (url, init) => {
      accepted.push(new Headers(init?.headers).get('accept') ?? '');
      return fetch(url, init);
    },
    exchanges: [cacheExchange, fetchExchange],
  });
  const shown: { data: unknown; hasNext: boolean }[] = [];
  const subscription = client.query(query, {}).subscribe(({ data, hasNext, error }) => {
    if (error !== undefined) throw error;
    const { label, otherAccounts } = data.bank.account;
    const others = otherAccounts.nodes.map(
      ({ otherAccountId }: { otherAccountId: string }) => otherAccountId,
    );
    shown.push({ data: { label, others }, hasNext });
  });
  await expect
    .poll(() => shown.at(-1))
    .toEqual({ data: { label: undefined, others: ['x', 'y'] }, hasNext: true });
  release();
  await expect
    .poll(() => shown.at(-1))
    .toEqual({ data: { label: 'Current', others: ['x', 'y'] }, hasNext: false });
  subscription.unsubscribe();
  expect(accepted).toEqual([expect.stringContaining('multipart/mixed')]);
  expect(fixture.bank.calls).toHaveLength(2);
});
