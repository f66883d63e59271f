import { expect, test } from 'vitest';
import type { BankClient } from '../src/bank/client.ts';
import { requestCredentials } from '../src/bank/credentials.ts';
import { operations } from '../src/contract/operations.ts';
import { BankqlError } from '../src/errors.ts';
import { DocumentCacheStats } from '../src/graphql/documents.ts';
import { Callers } from '../src/load/callers.ts';
import { createRateLimiter } from '../src/load/rate-limit.ts';
import { input, messageOf, startAgents } from './support/agents.ts';
import { anyAnswer } from './support/any-bank.ts';
import { createTestClient, readFrom } from './support/bank-client.ts';
import { createTestBankql, createTestHolder } from './support/bankql.ts';
import { answer, startFaultyBank } from './support/faulty-bank.ts';
import { keptMegabytes } from './support/memory.ts';
import { startRecordingBank } from './support/recording-bank.ts';
import { connectTo, credentials, postText } from './support/requests.ts';
import { startServerFixture } from './support/server-fixture.ts';

/** Caches keep no more than their limits. Memory is measured in a process that runs nothing else. */

/** A short text whose fragments make nearly as many fields as an operation may have. */
const manyFields = (name: string) => `query ${name}($a: Boolean!, $b: Boolean!) {
  bank {
    bankId @skip(if: $a) id @skip(if: $b)
    ${Array.from({ length: 19 }, (_, index) => `a${index}: account(accountId: "A") { ...A }`).join(' ')}
  }
}
fragment A on Account {
  id bankId accountId label number iban swiftBic types viewsAvailable ownerIds viewId bankIds
  balance { amount currency } owners { ...C }
}
fragment C on Customer { id customerId legalName email mobilePhoneNumber bankIds bankId __typename }`;

const documentCacheBytes = 16 * 1024 * 1024;

test('documents whose fragments multiply, with all that @skip decides, take no more than a bounded memory', async () => {
  const documentStats = new DocumentCacheStats();
  await using bank = await startRecordingBank();
  bank.otherwise(anyAnswer);
  await using bankql = await createTestBankql({
    bankUrl: bank.url,
    limits: { timeoutMs: 600_000, restCalls: 1000 },
    documentCacheBytes,
    documentStats,
  });
  const askAll = async (from: number, to: number) => {
    for (let index = from; index < to; index++) {
      for (const a of [true, false]) {
        for (const b of [true, false]) {
          const { errors } = await bankql.ask(manyFields(`D${index}`), { a, b });
          expect(errors).toBeUndefined();
        }
      }
    }
  };
  const before = await keptMegabytes();
  await askAll(0, 30);
  const full = await keptMegabytes();
  expect(documentStats.bytes).toBeGreaterThan(documentCacheBytes / 2);
  await askAll(30, 60);
  const later = await keptMegabytes();
  expect(documentStats.bytes).toBeLessThanOrEqual(documentCacheBytes);
  // Documents fill the cache with at most 25 MB. After that, hardly any more memory is used.
  expect(full - before).toBeLessThan(25);
  expect(later - full).toBeLessThan(2.5);
});

test('300 documents of 45,000 characters leave no more than 60 do', async () => {
  await using bank = await startRecordingBank();
  await using bankql = await createTestBankql({ bankUrl: bank.url });
  const rest = 'x'.repeat(45_000);
  const ask = async (from: number, to: number) => {
    for (let n = from; n < to; n++) await bankql.ask(`{ a${n}: __typename } # ${n} ${rest}`);
    return keptMegabytes();
  };
  const early = await ask(0, 60);
  // The texts have 11 MB. Without a bound, they would be kept several times.
  expect((await ask(60, 300)) - early).toBeLessThan(8);
});

/** A body in chunks of one byte, without its end. */
const tinyChunks = '1\r\nx\r\n'.repeat(90_000);

test('bodies in chunks of one byte take no more memory than a few times their bytes', async () => {
  await using fixture = await startServerFixture();
  const before = await keptMegabytes();
  const head = postText('', credentials).replace('Content-Length: 0', 'Transfer-Encoding: chunked');
  const sockets = Array.from({ length: 4 }, () => connectTo(fixture.url));
  for (const socket of sockets) socket.write(head + tinyChunks);
  await expect.poll(() => fixture.server.held.arriving).toBeGreaterThan(4 * 90_000);
  expect((await keptMegabytes()) - before).toBeLessThan(5);
  for (const socket of sockets) socket.destroy();
});

/** The permitted growth after 6,500 more paths, in megabytes, once the cache is full. */
const mostGrowth = 1.5;

/** A bank that keeps nothing, so that the measured memory is bankql's. */
async function startForgetfulBank() {
  let arrived = 0;
  const bank = await startFaultyBank();
  bank.behave((socket) => {
    const [, target = ''] = bank.requests.pop()?.split(' ', 2) ?? [];
    const id = target.slice(target.lastIndexOf('/') + 1);
    arrived++;
    if (id.startsWith('gone')) socket.write(answer(404, '{"message":"gone"}'));
    else socket.write(answer(200, JSON.stringify({ id, bank_id: null })));
  });
  return { url: bank.url, arrived: () => arrived, [Symbol.asyncDispose]: () => bank.close() };
}

const isGone = (number: number) => number % 16 === 0;

/**
 * Reads `count` new paths, beginning with `from`, each as another caller: mostly public records, some private ones, and some that
 * do not exist.
 * Errors: an Error if an answer is not the bank's.
 */
async function readNewPaths(client: BankClient, from: number, count: number): Promise<void> {
  const end = from + count;
  let next = from;
  const { getCustomer, getProduct } = operations;
  const read = async () => {
    while (next < end) {
      const number = next++;
      const credentials = { subscriptionKey: 'key', authProviderName: 'p', authId: `caller-${number}` };
      const id = `${isGone(number) ? 'gone' : 'kept'}-${number}`;
      const answered = await (number % 4 === 1
        ? readFrom(client, getCustomer, { ids: { bankId: 'BANK', customerId: id }, credentials })
        : readFrom(client, getProduct, { ids: { bankId: 'BANK', productId: id }, credentials })
      ).then(({ answer }) => Reflect.get(Object(answer), 'id'), codeOf);
      if (answered !== (isGone(number) ? 'NOT_FOUND' : id)) throw new Error(`${id} is answered ${answered}`);
    }
  };
  await Promise.all(Array.from({ length: 32 }, read));
}

const codeOf = (error: unknown) => (error instanceof BankqlError ? error.extensions.code : error);

test('14,000 paths, each of another caller, leave no more than the cache may hold', async () => {
  await using bank = await startForgetfulBank();
  // The limits are high, so that a slow machine causes no refusal.
  const patient = { timeoutMs: 120_000, waitMs: 120_000, slowCallMs: 120_000, breakerThreshold: 0 };
  const cacheBytes = 2 * 1024 * 1024;
  await using client = createTestClient(bank.url, {
    publicCacheTtlMs: 600_000,
    publicCacheBytes: cacheBytes,
    connections: 32,
    ...patient,
  });
  await readNewPaths(client, 0, 1000);
  const empty = await keptMegabytes();
  await readNewPaths(client, 1000, 6_500);
  const full = await keptMegabytes();
  await readNewPaths(client, 7_500, 6_500);
  expect((await keptMegabytes()) - full).toBeLessThan(mostGrowth);
  expect(full - empty).toBeLessThan(3);
  expect(bank.arrived()).toBe(14_000);
});

test('whoever makes up 50,000 callers costs no more than the counters that may be kept, and is not in the way of others', async () => {
  const limiter = createRateLimiter({ calls: 300, seconds: 60 }, { maxCallers: 5000 });
  const take = (authId: string) => limiter.take({ hash: authId });
  await take('first');
  const before = await keptMegabytes();
  for (let name = 0; name < 50_000; name++) await take(`made up ${name}`);
  expect((await keptMegabytes()) - before).toBeLessThan(12);
  await take('late');
});

test('10,000 calls of tools for agents leave the memory as it was', async () => {
  await using agents = await startAgents();
  const given = { subscriptionKey: 'k', authProviderName: 'p', authId: 'alice' };
  const sender = {
    credentials: requestCredentials(given, new Callers()),
    holder: createTestHolder(),
    activity: null,
    fetchRequest: { method: 'POST', url: 'http://bankql/mcp', headers: new Headers() },
  };
  const calling = (name: string, given: object) => {
    const { headers, body } = messageOf('tools/call', { name, arguments: given });
    const lowerCase = Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value]);
    return { body: JSON.parse(body), request: { headers: Object.fromEntries(lowerCase) } };
  };
  const [reading, question] = [calling('Anything', {}), calling('Pay', { input: input() })];
  const ask = async (times: number) => {
    for (let n = 0; n < times; n++) {
      const { body, request } = n % 10 === 0 ? question : reading;
      const { status } = await agents.endpoint.answer(body, { ...sender, request });
      expect(status).toBe(200);
      // The log is kept in memory, so it is emptied here.
      agents.log.length = 0;
    }
  };
  await ask(1000);
  const before = await keptMegabytes();
  await ask(10_000);
  expect((await keptMegabytes()) - before).toBeLessThan(1);
  expect(agents.payments()).toBe(0);
});
