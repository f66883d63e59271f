import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ApolloClient,
  ApolloLink,
  CombinedGraphQLErrors,
  gql,
  HttpLink,
  InMemoryCache,
} from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { RetryLink } from '@apollo/client/link/retry';
import { relayStylePagination } from '@apollo/client/utilities';
import { buildSchema, type GraphQLInterfaceType } from 'graphql';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { alice } from '../../src/commands/announcements.ts';
import { type LiveBankql, startLiveBankql } from '../support/live-bankql.ts';
import { type Loss, lossyFetch } from '../support/lossy-fetch.ts';

/** Apollo Client's own links and pages, against a bankql process: what they send, and what an app gets. */

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/clients.md'), 'utf8');
/** The types of `possibleTypes`, as docs/clients.md lists them. */
const [, list = ''] = /Node: \[([^\]]+)\]/.exec(page) ?? [];
const nodes = [...list.matchAll(/'(\w+)'/g)].map(([, name = '']) => name);

let bankql: LiveBankql;
beforeAll(async () => {
  bankql = await startLiveBankql();
});
beforeEach(() => {
  bankql.bank.recorder.calls.length = 0;
});
afterAll(() => bankql[Symbol.asyncDispose]());

function open(losses?: (body: string, nth: number) => Loss, links: ApolloLink[] = [], url = bankql.url) {
  const network = lossyFetch(losses);
  const http = new HttpLink({
    uri: `${url}/graphql`,
    headers: alice,
    fetch: (target, init) => network(String(target), init ?? {}),
  });
  const cache = new InMemoryCache({
    possibleTypes: { Node: nodes },
    typePolicies: {
      Viewer: { merge: true },
      Bank: { fields: { branches: relayStylePagination(['search']) } },
    },
  });
  return { client: new ApolloClient({ cache, link: ApolloLink.from([...links, http]) }), network };
}

const Balance = gql`
  query ApolloBalance($accountId: ID!) {
    bank { id account(accountId: $accountId) { id balance { amount currency } } }
  }
`;
const variables = { accountId: 'alice-trust' };
const exact = { bank: { account: { balance: { amount: '9007199254740993.25', currency: 'EUR' } } } };

test('possibleTypes has all nodes of the schema, so that a fragment on Node is read from the cache', async () => {
  const schema = buildSchema(readFileSync(join(root, 'schema.graphql'), 'utf8'));
  const all = schema.getPossibleTypes(schema.getType('Node') as GraphQLInterfaceType);
  expect(nodes).toEqual(all.map(({ name }) => name).sort());

  const { client, network } = open();
  const query = gql`query ApolloNode { viewer { account { ... on Node { id } label } } }`;
  await client.query({ query });
  expect((await client.query({ query })).data).toMatchObject({
    viewer: { account: { id: expect.any(String) } },
  });
  expect(network.bodies).toHaveLength(1);
});

test('what one screen asked of the viewer stays in the cache when another asks for something else', async () => {
  expect(page).toContain('typePolicies: { Viewer: { merge: true } }');
  const { client, network } = open();
  const screens = [
    gql`query ApolloWho { viewer { customer { id legalName } } }`,
    gql`query ApolloWhat { viewer { account { id label } } }`,
  ];
  for (const query of [...screens, ...screens]) await client.query({ query });
  expect(network.bodies).toHaveLength(2);
});

describe('automatic persisted queries', () => {
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  const persisted = () => new PersistedQueryLink({ sha256 });

  test('fall back to texts for good', async () => {
    const { client, network } = open(undefined, [persisted()]);
    for (let times = 0; times < 2; times++) {
      const { data } = await client.query({ query: Balance, variables, fetchPolicy: 'network-only' });
      expect(data).toMatchObject(exact);
    }
    expect(network.bodies.map(({ query }) => query !== undefined)).toEqual([false, true, true]);
  });
});

test('RetryLink asks a query again whose answer was lost', async () => {
  const retry = new RetryLink({ delay: { initial: 1, jitter: false }, attempts: { max: 3 } });
  const { client, network } = open((_body, nth) => (nth === 0 ? 'answer' : null), [retry]);
  const { data } = await client.query({ query: Balance, variables });
  expect(data).toMatchObject(exact);
  expect(network.bodies).toHaveLength(2);
});

test('an error arrives with its code and path, and beside it what could be answered', async () => {
  const { client } = open();
  const { data, error } = await client.query<object>({
    query: gql`query ApolloPartly { viewer { customer { id legalName } } bank { id account(accountId: "nobody") { id label } } }`,
    errorPolicy: 'all',
  });
  expect(CombinedGraphQLErrors.is(error) && error.errors).toMatchObject([
    { path: ['bank', 'account'], extensions: { code: 'NOT_FOUND', retryable: false } },
  ]);
  expect(data).toMatchObject({
    viewer: { customer: { legalName: 'Αλίκη Παπαδοπούλου' } },
    bank: { account: null },
  });
});

test('relayStylePagination puts pages together, and the bank is asked for its list once', async () => {
  const { client } = open();
  const query = gql`
    query ApolloBranches($after: String) {
      bank {
        id
        branches(first: 10, after: $after) {
          edges { cursor node { id branchId } }
          pageInfo { hasNextPage endCursor }
          totalCount
        }
      }
    }
  `;
  interface Branches {
    bank: {
      branches: {
        edges: { node: { branchId: string } }[];
        pageInfo: { hasNextPage: boolean; endCursor: string };
      };
    };
  }
  const watched = client.watchQuery<Branches>({ query });
  const shown = () => client.readQuery<Branches>({ query })?.bank.branches;
  await client.query({ query });
  for (let pages = 1; shown()?.pageInfo.hasNextPage; pages++) {
    expect(shown()?.edges).toHaveLength(10 * pages);
    await watched.fetchMore({ variables: { after: shown()?.pageInfo.endCursor } });
  }
  const ids = shown()?.edges.map(({ node }) => node.branchId) ?? [];
  expect([ids.length, new Set(ids).size]).toEqual([26, 26]);
  expect(bankql.bank.recorder.lines()).toHaveLength(1);
});
