import type { Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../src/payments/store/open-store.ts';
import { encodeGlobalId } from '../../src/schema/plugin/global-id.ts';
import { type Answered, AttackedProcess } from '../support/attacked-process.ts';
import {
  type Act,
  answer,
  hang,
  later,
  lineOf,
  reply,
  startFaultyBank,
  write,
} from '../support/faulty-bank.ts';
import { claims, createKey, sign, startIssuer } from '../support/issuer.ts';
import { withLimits } from '../support/limits.ts';
import { pay, transfer } from '../support/payment-client.ts';
import { branchesOf } from '../support/records.ts';
import { connectTo, postOf, postText } from '../support/requests.ts';
import { testFolder } from '../support/test-folder.ts';
import { until } from '../support/waits.ts';

/**
 * Requests that once stopped bankql, used too much memory or delayed others, sent to a process over its socket. The process
 * survives, the answer and the memory are bounded, and a good caller is answered in the meantime. The good caller's wait is
 * measured in processor time of bankql's process, and only while the test's process could read the answer, so it does not
 * depend on other work of the machine.
 */
const megabyte = 1024 * 1024;
const worstWorkMs = 300;
const maxGrownMegabytes = 300;

const key = 'Zq7subscriptionkey';
const of = (caller: string) => ({
  'Ocp-Apim-Subscription-Key': key,
  'Auth-Provider-Name': 'provider',
  'Auth-ID': caller,
});
const good = of('good');
const operation = (query: string) => JSON.stringify({ query });

const branches = JSON.stringify(branchesOf(26, (n) => ({ id: `b${n}`, name: `Branch ${n}` })));
const longBranches = JSON.stringify(branchesOf(500, (n) => ({ id: `b${n}`, name: 'x'.repeat(1400) })));
const manyBranches = JSON.stringify(
  branchesOf(2000, (n) => ({
    id: `b${n}`,
    address: { city: `City ${n % 10}` },
    location: { latitude: n % 90, longitude: n % 180 },
  })),
);

/** Holds the bank's slow answers until a test releases them. */
const slow = { released: Promise.withResolvers<void>() };

/** The behaviour of the bank, by the name of the bank in the path. */
const banks: Readonly<Record<string, Act>> = {
  good: reply(200, branches),
  long: reply(200, longBranches),
  many: reply(200, manyBranches),
  unauthorized: reply(401, '{"message":"Unauthorized"}'),
  slow: (socket) => void slow.released.promise.then(() => reply(200, '{"customer_id":"c"}')(socket)),
  late: later(300, reply(200, '{"id":"TX"}')),
  interim(socket) {
    const [proceed, processing] = ['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 102 Processing\r\n\r\n'];
    const body = lineOf(bank.requests.at(-1) ?? '').startsWith('GET') ? branches : '{"id":"TX"}';
    write(proceed, processing, proceed, answer(200, body))(socket);
  },
  talkative: reply(400, JSON.stringify({ message: `${'x'.repeat(9_990)}${key} is not known` })),
};
/** The bank `hanging`, like any other name, gets no answer. */
const bank = await startFaultyBank((socket) => {
  const [, name = ''] = /\/banks\/([^/ ]+)/.exec(lineOf(bank.requests.at(-1) ?? '')) ?? [];
  (banks[name] ?? hang)(socket);
});
const stateUrl = `sqlite:${join(testFolder(), 'state.db')}`;
let environment: Record<string, string>;
let bankql: AttackedProcess;

beforeAll(async () => {
  environment = {
    BANK_BASE_URL: bank.url,
    BANK_ID: 'good',
    STATE_URL: stateUrl,
    LOG_LEVEL: 'debug',
  };
  bankql = await AttackedProcess.start(environment);
  // The first requests are sent before, so that compilation does not count as an effect of the attack.
  for (let n = 0; n < 20; n++) {
    await bankql.ask(operation('{ bank { branches { nodes { name } } } }'), good);
    await bankql.ask(operation(nodesOf(1)));
  }
});
afterAll(async () => {
  await bankql[Symbol.asyncDispose]();
  await bank.close();
});

/** Nested lists, in which each name has the maximum length. */
function nested(levels: number, aliasLength: number): string {
  const alias = (level: number) => `${'a'.repeat(aliasLength)}${level}: `;
  let text = '{ __typename }';
  for (let level = 0; level < levels; level++)
    text = `{ ${alias(level)}bank { ${alias(level)}branches { ${alias(level)}nodes ${text} } } }`;
  return text;
}

/** A hundred ids of accounts that do not exist, for fields that fail because the caller has no credentials. */
const ids = (first: number) =>
  Array.from({ length: 100 }, (_, n) =>
    JSON.stringify(encodeGlobalId('Account', JSON.stringify(['good', `a${first + n}`, 'owner']))),
  ).join();
const failing = Array.from({ length: 7 }, (_, n) => `f${n}: otherAccounts(first: -1) { totalCount }`).join(
  ' ',
);
const nodesOf = (count: number) =>
  `{ ${Array.from({ length: count }, (_, n) => `n${n}: nodes(ids: [${ids(n * 100)}]) { ... on Account { ${failing} } }`).join(' ')} }`;

const blanks = ' '.repeat(14_000);

const attacks: readonly (readonly [string, string, Record<string, string>, number])[] = [
  [
    'an alias of 85,000 letters over nodes whose fields fail',
    `{ ${'a'.repeat(85_000)}: nodes(ids: [${ids(0)}]) { ... on Account { ${failing} } } }`,
    {},
    2000,
  ],
  ['the longest alias over nodes whose fields fail', nodesOf(1).replace('n0', 'a'.repeat(128)), {}, 100_000],
  [
    'a Content-Type with a long run of white space',
    '{ __typename }',
    { 'Content-Type': `application/json;a=b${blanks}x` },
    2000,
  ],
  ['lists in lists with long aliases, four deep', nested(4, 100), good, 2000],
  ['lists in lists with short names, three deep', nested(3, 1), good, 17_000_000],
  ['lists in lists with short names, four deep', nested(4, 1), good, 2000],
  ...['near: { latitude: 1, longitude: 2 }, first: 0', 'search: "City 1"'].map(
    (args) =>
      [
        `2,000 branches, each with a search by ${args}`,
        `{ bank(bankId: "many") { branches { nodes { bank { branches(${args}) { totalCount } } } } } }`,
        good,
        200_000,
      ] as const,
  ),
  [
    '50 fields at the root, each with a search of its own in 2,000 branches',
    `{ ${Array.from({ length: 50 }, (_, n) => `b${n}: bank(bankId: "many") { branches(search: "Cité ${n}") { nodes { name } } }`).join(' ')} }`,
    good,
    200_000,
  ],
  ['20 lists of 100 nodes whose fields fail', nodesOf(20), {}, 2000],
  ['100 nodes whose fields fail', nodesOf(1), {}, 100_000],
];

test.each(attacks)(
  '%s: little is answered, and a good caller is too',

  async (_, query, headers, most) => {
    const body = operation(query);
    const answered: Answered[] = [];
    // Another caller's payment is in progress in the meantime, and gets its answer.
    const paid = pay(bankql.url, transfer(crypto.randomUUID(), { bankId: 'late' }));
    const { worstWork, grownMegabytes } = await bankql.during(
      () =>
        Promise.all(
          Array.from({ length: 8 }, async () => void answered.push(await bankql.ask(body, headers))),
        ),
      good,
    );
    expect(bankql.isAlive).toBe(true);
    expect(answered).toHaveLength(8);
    for (const { bytes } of answered) expect(bytes).toBeLessThan(most);
    expect(await paid).toMatchObject({ code: 'DONE', transactionId: 'TX' });
    expect(worstWork).toBeLessThan(worstWorkMs);
    expect(grownMegabytes).toBeLessThan(maxGrownMegabytes);
  },
);

test('300 connections that ask for 7 MB each and never read', async () => {
  // There are fewer requests at a time and a shorter deadline than by default, so that the test ends soon.
  await using flooded = await AttackedProcess.start({
    ...environment,
    STATE_URL: 'memory:',
    ...withLimits({ unreadBytes: 50 * megabyte, unreadMs: 1500, requests: 30 }),
    METRICS_PORT: '0',
  });
  const aliases = Array.from({ length: 10 }, (_, n) => `b${n}: branches { nodes { name } }`).join(' ');
  const body = operation(`{ bank(bankId: "long") { ${aliases} } }`);
  const sockets: Socket[] = [];
  let most = 0;
  const unread = async () => {
    const bytes = await flooded.metric('bankql_held{resource="unread"}');
    most = Math.max(most, bytes);
    return bytes;
  };
  // All callers are unverified and have the same address. So `during` checks that the good caller is served, but not how soon.
  const { grownMegabytes } = await flooded
    .during(async () => {
      for (let n = 0; n < 300; n++) {
        const socket = connectTo(flooded.url).pause();
        socket.write(postText(body, of(`greedy-${n % 50}`)));
        sockets.push(socket);
        if (n % 50 === 0) await unread();
      }
      await expect.poll(unread).toBeGreaterThan(3 * megabyte);
      // All clients are still connected, so their answers are released only because the server closes the connections.
      await expect.poll(unread).toBe(0);
    }, good)
    .finally(() => {
      for (const socket of sockets) socket.destroy();
    });
  expect(flooded.isAlive).toBe(true);
  expect(most).toBeLessThanOrEqual(50 * megabyte);
  expect(grownMegabytes).toBeLessThan(maxGrownMegabytes);
  // The requests of the connections that have just ended may still be in progress.
  await expect.poll(() => flooded.metric('bankql_held{resource="requests"}')).toBe(0);
  expect((await flooded.ask(operation('{ __typename }'), good)).status).toBe(200);
});

/**
 * Sends 20 requests to a process that accepts two at a time from a caller. Returns the statuses of all but two, which are
 * answered last.
 */
async function statusesOf(
  requestOf: (n: number) => readonly [target: string, headers: Record<string, string>],
  own: Record<string, string> = {},
): Promise<number[]> {
  await using guarded = await AttackedProcess.start({
    ...environment,
    BANK_ID: 'hanging',
    STATE_URL: 'memory:',
    ...withLimits({ requestsPerCaller: 2 }),
    ...own,
  });
  const leaving = new AbortController();
  const statuses: number[] = [];
  const sent = Array.from({ length: 20 }, async (_, n) => {
    const [target, headers] = requestOf(n);
    const post = postOf({ query: '{ bank { branches { totalCount } } }' }, headers);
    const answer = fetch(guarded.url + target, { ...post, signal: leaving.signal });
    await answer.then(({ status }) => statuses.push(status)).catch(() => {});
  });
  await until(() => statuses.length >= 18);
  leaving.abort();
  await Promise.all(sent);
  return statuses;
}

test('20 spellings of one key are one caller', async () => {
  const names = ['subscription-key', 'subscription%2Dkey', '%73ubscription-key', 'subscriptio%6E-key'];
  const statuses = await statusesOf((n) => [
    `/graphql?a=${n}&${names[n % 4]}=${n % 2 === 0 ? key : key.replace('Z', '%5A')}`,
    {},
  ]);
  expect(statuses).toEqual(Array(18).fill(503));
});

test('20 spellings of one token are one caller', async () => {
  const signer = await createKey('ES256', 'k');
  await using issuer = await startIssuer(signer);
  const token = await sign(signer, claims());
  const statuses = await statusesOf(
    (n) => [
      '/graphql',
      { Authorization: `${n % 2 === 0 ? 'Bearer' : 'bEARER'}${' '.repeat(1 + n)}${token}` },
    ],
    { BANK_SUBSCRIPTION_KEY: key, ...issuer.variables },
  );
  expect(statuses).toEqual(Array(18).fill(503));
});

test('payments that the bank answers with 401 leave no record, and one with a currency of 90 kB is not sent', async () => {
  const logged = bankql.process.output().length;
  const refused = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      pay(bankql.url, transfer(`refused-${n}`, { bankId: 'unauthorized' }), { headers: of('payer') }),
    ),
  );
  expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['UNAUTHENTICATED']));
  const long = await Promise.all(
    Array.from({ length: 2 }, (_, n) =>
      pay(
        bankql.url,
        transfer(`long-${n}`, {
          bankId: 'long-currency',
          value: { amount: '1', currency: 'E'.repeat(90_000) },
        }),
        { headers: of('payer') },
      ),
    ),
  );
  expect(new Set(long.map(({ code }) => code))).toEqual(new Set(['BAD_USER_INPUT']));
  expect(bank.requests.filter((request) => lineOf(request).includes('long-currency'))).toEqual([]);
  const store = await openStore(stateUrl, { timeoutMs: 60_000, retentionMs: 86_400_000 });
  const records = await store.search({});
  await store.close();
  expect(records.filter(({ accountId }) => /^(refused|long)-/.test(accountId))).toEqual([]);
  // For each of the eight payments, the log has two audit lines, and lines about the call, the refusal and the operation.
  expect(bankql.process.output().length - logged).toBeLessThan(40_000);
});

test('a key in the bank’s words is in no answer and no line of the log, wherever those are cut', async () => {
  const query = operation('{ bank(bankId: "talkative") { customer(customerId: "c") { email } } }');
  const { start } = await bankql.ask(query, of('curious'));
  expect(start).toContain('BANK_REJECTED');
  const paid = await pay(bankql.url, transfer('talkative', { bankId: 'talkative' }), {
    headers: of('curious'),
  });
  expect(paid.code).toBe('OUTCOME_UNKNOWN');
  expect(start + paid.message + bankql.process.output()).not.toContain(key.slice(0, 3));
});

test.each(['slow', 'hanging'])(
  'an operation of the bank that is %s takes no connection from the reads of others',
  async (name) => {
    await using patient = await AttackedProcess.start({
      ...environment,
      STATE_URL: 'memory:',
    });
    const customer = operation(`{ bank(bankId: "${name}") { customer(customerId: "c") { email } } }`);
    const others: Answered[] = [];
    await patient.during(async () => {
      const asked = Array.from({ length: 90 }, (_, n) =>
        patient.ask(customer, of(`c-${crypto.randomUUID()}-${n}`)).catch(() => {}),
      );
      await until(() => bank.requests.some((request) => lineOf(request).includes(`/${name}/customers/`)));
      for (let n = 0; n < 50; n++) {
        // Each request reads from another bank, so that no call is shared or cached: there are as many calls as requests.
        const query = `{ bank(bankId: "good") { branches(filter: { id: "${n}" }) { totalCount } } }`;
        others.push(await patient.ask(operation(query), of(`r-${n}`)));
      }
      // None of the requests waited for a slow one.
      slow.released.resolve();
      if (name === 'slow') await Promise.all(asked);
    }, good);
    expect(others.filter(({ start }) => start.includes('OVERLOADED'))).toEqual([]);
    expect(others.filter(({ start }) => !start.includes('errors'))).toHaveLength(50);
  },
);
