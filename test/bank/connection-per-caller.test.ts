import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createTestClient } from '../support/bank-client.ts';
import { answer, type FaultyBank, later, reply, startFaultyBank } from '../support/faulty-bank.ts';
import { canaries, sampleCalls } from '../support/sample-calls.ts';
import { quietFor, turns } from '../support/waits.ts';

const { getCustomer, getBranches, putCustomerID } = sampleCalls;
const as = (authId: string) => ({ ...canaries, authId });
const ofCaller = (authId: string) => answer(200, JSON.stringify({ legal_name: authId }));
const headerOf = (request: string, name: string) =>
  new RegExp(`\\r\\n${name}: (.*)\\r\\n`, 'i').exec(request)?.[1];
const callerOf = (request: string) => headerOf(request, 'auth-id') ?? 'nobody';

/** Answers each request, and the first of each connection once more, when the second has arrived. */
function answersTwice(bank: FaultyBank) {
  const firsts = new Map<Socket, Buffer>();
  bank.behave((socket) => {
    const own = ofCaller(callerOf(bank.requests.at(-1) ?? ''));
    const first = firsts.get(socket);
    if (first === undefined) firsts.set(socket, own);
    else socket.write(first);
    socket.write(own);
  });
}

/** Notes which identities were on each connection. */
function identities(bank: FaultyBank, milliseconds: number) {
  const ofSocket = new Map<Socket, string[]>();
  bank.behave((socket) => {
    const request = bank.requests.at(-1) ?? '';
    ofSocket.set(socket, [...(ofSocket.get(socket) ?? []), callerOf(request)]);
    const { reply: text } = request.includes('/branches') ? getBranches : getCustomer;
    later(milliseconds, reply(200, text))(socket);
  });
  return () => [...ofSocket.values()];
}

const read = async (client: Parameters<typeof getCustomer.run>[0], authId: string) => {
  const { answer: customer } = await getCustomer.run(client, as(authId));
  // A connection that was just used is free again one turn later.
  await turns();
  return customer;
};

describe('a second answer that comes late, on a connection that was kept', () => {
  test('is taken for the next caller’s, unless connections are one identity’s', async () => {
    for (const connectionPerCaller of [false, true]) {
      await using bank = await startFaultyBank();
      answersTwice(bank);
      await using client = createTestClient(bank.url, { connections: 1, connectionPerCaller });
      expect(await read(client, 'alice')).toEqual({ legal_name: 'alice' });
      expect(await read(client, 'bob')).toEqual({ legal_name: connectionPerCaller ? 'bob' : 'alice' });
      expect([bank.connections(), bank.requests.length]).toEqual([connectionPerCaller ? 2 : 1, 2]);
    }
  });

  test('is the same caller’s own, and nobody else’s, however many callers take turns', async () => {
    await using bank = await startFaultyBank();
    answersTwice(bank);
    await using client = createTestClient(bank.url, { connections: 2, connectionPerCaller: true });
    for (let turn = 0; turn < 6; turn++) {
      const names = ['alice', 'bob', 'carol'];
      const answers = await Promise.all(names.map((name) => read(client, name)));
      expect(answers).toEqual(names.map((name) => ({ legal_name: name })));
    }
  });
});

describe('where connections are one identity’s', () => {
  const options = { connections: 3, connectionWaitMs: 60_000, timeoutMs: 60_000, connectionPerCaller: true };

  test('each bears the requests of one, and there are never more than the limit', async () => {
    await using bank = await startFaultyBank();
    const onConnections = identities(bank, 2);
    await using client = createTestClient(bank.url, options);
    let mostOpen = 0;
    const loops = Array.from({ length: 8 }, async (_, nth) => {
      for (let turn = 0; turn < 10; turn++) {
        await getCustomer.run(client, as(`caller-${nth}`), { customerId: `${turn}` });
        mostOpen = Math.max(mostOpen, bank.open());
      }
    });
    await Promise.all(loops);
    expect(bank.requests).toHaveLength(80);
    for (const callers of onConnections()) expect(new Set(callers).size).toBe(1);
    // One that is closed may be there for a moment beside the one that is made in its place.
    expect(mostOpen).toBeLessThanOrEqual(2 * options.connections);
    await expect.poll(bank.open).toBeLessThanOrEqual(options.connections);
  });

  test('a caller’s own is used again, also where another’s was used since', async () => {
    await using bank = await startFaultyBank();
    identities(bank, 0);
    await using client = createTestClient(bank.url, options);
    for (let turn = 0; turn < 3; turn++) for (const name of ['alice', 'bob']) await read(client, name);
    expect([bank.requests.length, bank.connections()]).toEqual([6, 2]);
  });

  test('callers differ by any of their credentials', async () => {
    await using bank = await startFaultyBank();
    identities(bank, 0);
    await using client = createTestClient(bank.url, { ...options, connections: 1 });
    const { subscriptionKey, authProviderName, authId } = canaries;
    for (const other of [
      canaries,
      { ...canaries, subscriptionKey: `${subscriptionKey}-2` },
      { ...canaries, authProviderName: `${authProviderName}-2` },
      { ...canaries, authId: `${authId}-2` },
      canaries,
    ]) {
      await getCustomer.run(client, other);
      await turns();
    }
    expect([bank.requests.length, bank.connections()]).toEqual([5, 5]);
  });

  test('what bears a key alone is another identity than what bears a caller too', async () => {
    await using bank = await startFaultyBank();
    const onConnections = identities(bank, 0);
    await using client = createTestClient(bank.url, { ...options, connections: 2 });
    for (const name of ['alice', 'bob']) {
      await getBranches.run(client, as(name));
      await turns();
    }
    await read(client, 'alice');
    expect(onConnections()).toEqual([['nobody', 'nobody'], ['alice']]);
  });

  test('a client that is closed opens none for another identity', async () => {
    await using bank = await startFaultyBank();
    identities(bank, 0);
    const client = createTestClient(bank.url, { ...options, connections: 1 });
    await read(client, 'alice');
    await client.close();
    await expect(read(client, 'bob')).rejects.toMatchObject({ code: 'BANK_UNAVAILABLE' });
    await quietFor(20);
    expect([bank.requests.length, bank.connections(), bank.open()]).toEqual([1, 1, 0]);
  });

  test('a write has a connection of its own, as always', async () => {
    await using bank = await startFaultyBank(reply(200, putCustomerID.reply));
    await using client = createTestClient(bank.url, { ...options, connections: 1 });
    for (const name of ['alice', 'alice', 'bob']) await putCustomerID.run(client, as(name));
    expect([bank.requests.length, bank.connections()]).toEqual([3, 3]);
  });
});
