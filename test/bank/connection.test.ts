import type { Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InterimResponses } from '../../src/bank/connection.ts';
import { createTestClient } from '../support/bank-client.ts';
import { type Act, answer, later, startFaultyBank, write } from '../support/faulty-bank.ts';
import { sampleCalls } from '../support/sample-calls.ts';
import { turns } from '../support/waits.ts';

const limits = { timeoutMs: 60_000, paymentTimeoutMs: 60_000 };
const continueHead = 'HTTP/1.1 100 Continue\r\n\r\n';
const processing = 'HTTP/1.1 102 Processing\r\n\r\n';
const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n';

const samples = [
  ['a read', sampleCalls.getBranches],
  ['a read with a body', sampleCalls.postBranches],
  ['a write', sampleCalls.putCustomerID],
  ['a payment', sampleCalls.postMakeTransaction],
] as const;

/** Writes each byte in a packet of its own, as far as the network keeps them apart. */
const inBytes =
  (bytes: Buffer): Act =>
  (socket: Socket) => {
    let at = 0;
    const next = () => {
      if (at === bytes.length || socket.destroyed) return;
      socket.write(bytes.subarray(at, ++at));
      setImmediate(next);
    };
    next();
  };

describe.each(samples)('interim responses before the answer to %s', (_, sample) => {
  const final = answer(200, sample.reply);

  test.each<readonly [string, string]>([
    ['100', continueHead],
    ['100 without a reason', 'HTTP/1.1 100\r\n\r\n'],
    ['100 with headers', 'HTTP/1.1 100 Continue\r\nDate: x\r\nX-Via: HTTP/1.1 100 proxy\r\n\r\n'],
    ['100 with a length, which means nothing', 'HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n'],
    ['100 after an empty line', `\r\n${continueHead}`],
    ['102', processing],
    ['103', hints],
    ['101 that names no protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    ['one that has no name', 'HTTP/1.1 199 Whatever\r\n\r\n'],
    ['all of them, some twice', continueHead + hints + continueHead + processing + continueHead],
    ['as many as may be', continueHead.repeat(500) + hints.repeat(500)],
  ])('are passed over: %s', async (_, interim) => {
    await using bank = await startFaultyBank();
    await using client = createTestClient(bank.url, limits);
    const whole = Buffer.concat([Buffer.from(interim), final]);
    const acts: readonly Act[] = [
      write(whole),
      (socket) => {
        socket.write(interim);
        later(20, write(final))(socket);
      },
      ...(whole.length < 1000 ? [inBytes(whole)] : []),
    ];
    for (const act of acts) {
      bank.behave(act);
      expect((await sample.run(client)).answer).toEqual(sample.answer);
    }
    expect(bank.requests).toHaveLength(acts.length);
  });

  test('are passed over wherever their bytes are split', async () => {
    await using bank = await startFaultyBank();
    await using client = createTestClient(bank.url, { ...limits, connections: 64 });
    const whole = Buffer.concat([Buffer.from(continueHead), final]);
    const end = continueHead.length + 12;
    let at = 0;
    bank.behave((socket) => {
      const split = ++at;
      socket.write(whole.subarray(0, split));
      later(5, write(whole.subarray(split)))(socket);
    });
    for (let split = 1; split <= end; split++)
      expect((await sample.run(client)).answer).toEqual(sample.answer);
    expect(bank.requests).toHaveLength(end);
  });

  test('end the call where there are more than a thousand', async () => {
    await using bank = await startFaultyBank(write(hints.repeat(1001), final));
    await using client = createTestClient(bank.url, limits);
    const failure: unknown = await sample.run(client).catch((error: unknown) => error);
    expect(failure).toMatchObject(
      {
        read: { code: 'BANK_UNAVAILABLE', cause: { sent: true } },
        write: { code: 'OUTCOME_UNKNOWN' },
        payment: { reason: 'unavailable', sent: true },
      }[sample.operation.kind],
    );
    expect(bank.requests).toHaveLength(1);
    await expect.poll(bank.open).toBe(0);
  });

  test.each([
    ['101 with an upgrade', 'HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
    ['101 with a protocol alone', 'HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n'],
    ['100 in HTTP/1.0', 'HTTP/1.0 100 Continue\r\n\r\n'],
    ['103 in HTTP/1.0', 'HTTP/1.0 103 Early Hints\r\n\r\n'],
    ['100 with lines that end otherwise', 'HTTP/1.1 100 Continue\n\n'],
    ['a head of 40 kB', `HTTP/1.1 100 Continue\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`],
    ['a status of four digits', 'HTTP/1.1 1000 Continue\r\n\r\n'],
  ])('end the call where they are none: %s', async (_, interim) => {
    await using bank = await startFaultyBank(write(interim, final));
    await using client = createTestClient(bank.url, limits);
    const failure: unknown = await sample.run(client).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(failure).toMatchObject(
      {
        read: { code: 'BANK_UNAVAILABLE' },
        write: { code: 'OUTCOME_UNKNOWN' },
        payment: { reason: 'unavailable', sent: true },
      }[sample.operation.kind],
    );
    expect(bank.requests).toHaveLength(1);
  });
});

describe('the next answer on a kept connection', () => {
  const read = sampleCalls.getBranches;

  test('has interim responses of its own', async () => {
    await using bank = await startFaultyBank(write(continueHead, hints, answer(200, read.reply)));
    await using client = createTestClient(bank.url, { ...limits, connections: 1 });
    for (let turn = 0; turn < 3; turn++) {
      expect((await read.run(client)).answer).toEqual(read.answer);
      await turns();
    }
    expect([bank.requests.length, bank.connections()]).toEqual([3, 1]);
  });

  test('is not one whose interim response came when nobody had asked', async () => {
    await using bank = await startFaultyBank(write(answer(200, read.reply)));
    await using client = createTestClient(bank.url, { ...limits, connections: 1 });
    bank.behave((socket) => {
      socket.write(answer(200, read.reply));
      later(10, write(continueHead))(socket);
    });
    for (let turn = 0; turn < 3; turn++) {
      expect((await read.run(client)).answer).toEqual(read.answer);
      await expect.poll(bank.open).toBe(0);
    }
    expect(bank.connections()).toBe(3);
  });
});

describe('of the bytes of an answer', () => {
  /** The bytes as undici sees them, read in pieces. */
  function rewritten(bytes: Buffer, cuts: readonly number[] = []): Buffer {
    const interim = new InterimResponses();
    interim.expect();
    const ends = [...cuts.toSorted((a, b) => a - b), bytes.length];
    const copy = Buffer.from(bytes);
    let start = 0;
    for (const end of ends) {
      interim.rewrite(copy.subarray(start, end));
      start = end;
    }
    return copy;
  }

  test('only the status of a 100 and a 101 is changed, wherever they are split', () => {
    const head = fc.constantFrom(
      continueHead,
      processing,
      hints,
      '\r\n',
      'HTTP/1.1 100 X\r\nX: \r\r\n\r\n',
      'HTTP/1.1 110 X\r\n\r\n',
      'HTTP/1.1 101 X\r\n\r\n',
    );
    const body = `${continueHead}${hints}HTTP/1.1 100`;
    const final = answer(200, body).toString();
    const cut = fc.nat(continueHead.length * 8);
    fc.assert(
      fc.property(fc.array(head, { maxLength: 6 }), fc.array(cut, { maxLength: 8 }), (heads, cuts) => {
        const bytes = Buffer.from(heads.join('') + final);
        const shown = (text: string) =>
          text.replace(/^HTTP\/1.1 10([01])/, (_, last) => `HTTP/1.1 10${last === '0' ? 3 : 9}`);
        const expected = heads.map(shown).join('') + final;
        const within = cuts.filter((at) => at <= bytes.length);
        expect(rewritten(bytes, within).toString()).toBe(expected);
      }),
      { seed: 20_261_122, numRuns: 1000 },
    );
  });

  test.each([
    'HTTP/1.1 200 100\r\n\r\nHTTP/1.1 100',
    'HTTP/1.0 100 X\r\n\r\n',
    'SSH-1 100',
    'HTTP/1.1 10',
    '',
  ])('none is changed in %j', (text) => {
    expect(rewritten(Buffer.from(text)).toString()).toBe(text);
  });
});
