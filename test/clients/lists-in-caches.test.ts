import { type DocumentNode, gql, InMemoryCache } from '@apollo/client';
import { Client, fetchExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { print } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { alice } from '../../src/commands/announcements.ts';
import { type RecordedSandbox, startRecordedSandbox } from '../support/recorded-sandbox.ts';
import { sandboxLists } from '../support/sandbox-lists.ts';

/** Every list of the sandbox comes out of a client's cache as it went in: no entry is lost or taken for another. */

let fixture: RecordedSandbox;
beforeAll(async () => {
  fixture = await startRecordedSandbox();
  for (const key of ['one', 'two', 'three'])
    await fixture.bankql.ask(
      `mutation { makeTransaction(input: { accountId: "alice-current" to: { accountId: "alice-savings" }
        value: { amount: "1.00", currency: "EUR" } idempotencyKey: "${key}" }) { userErrors { code } } }`,
      {},
      alice,
    );
});
afterAll(() => fixture[Symbol.asyncDispose]());

async function ask(query: DocumentNode): Promise<Record<string, unknown>> {
  const { data, errors } = await fixture.bankql.ask<Record<string, unknown>, object>(print(query), {}, alice);
  expect(errors).toBeUndefined();
  return data ?? expect.unreachable();
}

/** The objects with an id in an answer, each with its own plain fields, as Relay's store keeps them: by the id alone. */
function objectsIn(value: unknown): { readonly id: string; readonly fields: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.values(value).flatMap(objectsIn);
  const id: unknown = Reflect.get(value, 'id');
  if (typeof id !== 'string') return below;
  const plain = Object.entries(value).filter(([, field]) => typeof field !== 'object');
  return [{ id, fields: JSON.stringify(plain) }, ...below];
}

describe.each(Object.entries(sandboxLists))('the list of %s', (_name, selection) => {
  const query = gql(`{ ${selection} }`);

  test('has entries, each with an id of its own, by which Relay keeps it', async () => {
    const data = await ask(query);
    expect(JSON.stringify(data)).toMatch(/"(nodes|edges)":\[\{/);
    const kept = new Map<string, string>();
    for (const { id, fields } of objectsIn(data)) {
      expect(fields).toBe(kept.get(id) ?? fields);
      kept.set(id, fields);
    }
  });

  test('comes out of Apollo’s InMemoryCache as it went in', async () => {
    const cache = new InMemoryCache();
    const transformed = cache.transformDocument(query);
    const data = await ask(transformed);
    cache.writeQuery({ query, data });
    expect(cache.readQuery({ query })).toEqual(data);
  });

  test('comes out of graphcache as it went in', async () => {
    const data = await ask(query);
    const warnings: string[] = [];
    const client = new Client({
      url: 'http://bankql.test/graphql',
      preferGetMethod: false,
      fetch: (url, init) => fixture.bankql.fetch(new Request(url, init)),
      fetchOptions: { headers: alice },
      exchanges: [
        cacheExchange({ logger: (severity, message) => severity === 'error' && warnings.push(message) }),
        fetchExchange,
      ],
    });
    const fetched = await client.query(query, {}).toPromise();
    expect(fetched.error).toBeUndefined();
    const kept = await client.query(query, {}, { requestPolicy: 'cache-only' }).toPromise();
    const withoutTypes = (value: unknown) =>
      JSON.parse(JSON.stringify(value), (key, member) => (key === '__typename' ? undefined : member));
    expect(withoutTypes(kept.data)).toEqual(withoutTypes(data));
    expect(warnings).toEqual([]);
  });
});
