import type { Socket } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { OperationDeadline } from '../../src/bank/deadline.ts';
import { type ArrivingBody, Intake, intake } from '../../src/bank/intake.ts';
import type { CallReport } from '../../src/bank/report.ts';
import { createTestClient } from '../support/bank-client.ts';
import { type Act, reply, startFaultyBank } from '../support/faulty-bank.ts';
import { letPass } from '../support/let-pass.ts';
import { canaries, sampleCalls } from '../support/sample-calls.ts';
import { countIterations, turns, until } from '../support/waits.ts';

const kilobyte = 1024;
const part = 64 * kilobyte;

describe('bodies that arrive at the same time', () => {
  /** Bodies of so many parts each, all of which have reached their connections. Notes the parts in the order in which they are taken. */
  function arriving(names: string, parts: number) {
    const pace = new Intake();
    let taken = '';
    const bodies = [...names].map((name) => {
      let left = parts;
      let isPaused = false;
      const body: ArrivingBody = {
        pause() {
          isPaused = true;
        },
        resume() {
          isPaused = false;
          arrive();
        },
      };
      const arrive = () => {
        while (left > 0 && !isPaused) {
          left--;
          taken += name;
          // Its last part is not paused: it has arrived whole.
          if (left > 0) pace.take(body, part);
        }
      };
      return arrive;
    });
    return {
      pace,
      begin: () => {
        for (const arrive of bodies) arrive();
      },
      /** What was taken since this was called last. */
      taken: () => {
        const since = taken;
        taken = '';
        return since;
      },
    };
  }

  test('are taken at once up to 512 kB; of each of the others, one part has arrived', async () => {
    const { begin, taken } = arriving('abcd', 4);
    begin();
    expect(taken()).toBe('aaaabbbbcccd');
  });

  test('go on in later iterations of the event loop, one to its end before the next', async () => {
    const { begin, taken } = arriving('abcdefgh', 4);
    begin();
    expect(taken()).toBe('aaaabbbbcccdefgh');
    await turns(1);
    expect(taken()).toBe('cdddeeefffgggh');
    await turns(1);
    expect(taken()).toBe('hh');
  });

  test('go on by one part in an iteration while more than 256 kB wait to be parsed', async () => {
    const { pace, begin, taken } = arriving('ab', 3);
    pace.unparsed = 256 * kilobyte + 1;
    begin();
    expect(taken()).toBe('ab');
    const parts: string[] = [];
    for (let turn = 0; turn < 5; turn++) {
      await turns(1);
      parts.push(taken());
    }
    expect(parts).toEqual(['a', 'a', 'b', 'b', '']);
  });
});

const long = sampleCalls.getCustomer;
const short = sampleCalls.getMessagesOwner;
/** A customer with so many bytes in a field that the contract does not have. */
const paddedBody = (bytes: number) => `{"email":"a@bank.example","padding":"${'x'.repeat(bytes)}"}`;
const padded = (bytes: number) => reply(200, paddedBody(bytes));
const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
/** The same in chunks of the transfer coding of so many bytes each. */
const chunked = (bytes: number, size: number) => {
  const chunks = paddedBody(bytes).match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
  const coded = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  return `${head}Transfer-Encoding: chunked\r\n\r\n${coded.join('')}0\r\n\r\n`;
};

test.each([
  ['in one piece', padded],
  [
    'in chunks of 4 kB',
    (bytes: number): Act =>
      (socket) =>
        void socket.write(chunked(bytes, 4 * kilobyte)),
  ],
])(
  'forty long answers that arrive at the same time %s are taken in many iterations, and come whole',
  async (_, answering) => {
    const [count, bytes] = [40, 300 * kilobyte];
    await using bank = await startFaultyBank();
    await using client = createTestClient(bank.url, { connections: count + 8, timeoutMs: 120_000 });
    const sockets: Socket[] = [];
    bank.behave((socket) => void sockets.push(socket));
    const answers = Array.from({ length: count }, async (_, nth) => {
      const { answer } = await long.run(client, canaries, { customerId: `c${nth}` });
      return answer;
    });
    await until(() => sockets.length === count);

    using iteration = countIterations();
    const iterations = new Set<number>();
    const take = intake.take.bind(intake);
    const takes = vi.spyOn(intake, 'take').mockImplementation((body, taken) => {
      iterations.add(iteration.count);
      take(body, taken);
    });
    for (const socket of sockets) answering(bytes)(socket);
    // A body that lost a byte would not be JSON.
    for (const answer of await Promise.all(answers))
      expect(answer).toMatchObject({ email: 'a@bank.example' });
    takes.mockRestore();
    // Without a pause, two iterations take all of them.
    expect(iterations.size).toBeGreaterThan((count * bytes) / (2048 * kilobyte));
    expect(intake.unparsed).toBe(0);
  },
);

/** Calls while what others have read waits to be parsed, so that each part but the last is paused. */
async function whilePaused<Result>(call: () => Promise<Result>): Promise<Result> {
  const others = 1024 * kilobyte;
  intake.unparsed += others;
  try {
    return await call();
  } finally {
    intake.unparsed -= others;
  }
}

test('a paused answer in small chunks goes on by what its connection has read, not by a chunk', async () => {
  const [bytes, size] = [900 * kilobyte, 9 * kilobyte];
  await using bank = await startFaultyBank((socket) => socket.write(chunked(bytes, size)));
  await using client = createTestClient(bank.url, { timeoutMs: 120_000 });
  using takes = vi.spyOn(intake, 'take');
  const { answer } = await whilePaused(() => long.run(client));
  const count = takes.mock.calls.length;
  expect(answer).toMatchObject({ email: 'a@bank.example' });
  // A read takes seven chunks; by one at a time, the rest would be put back 100 times.
  expect(count).toBeLessThan(bytes / size / 2);
});

test('a connection whose last answer ended in the read that paused it is used again', async () => {
  await using bank = await startFaultyBank((socket) => socket.write(chunked(20 * kilobyte, 4 * kilobyte)));
  await using client = createTestClient(bank.url, { connections: 1 });
  using paused = vi.spyOn(intake, 'take').mockImplementation((body) => body.pause());
  await long.run(client);
  expect(paused).toHaveBeenCalledOnce();
  bank.behave(reply(200, short.reply));
  await short.run(client);
  expect(bank.connections()).toBe(1);
});

describe('an answer that is paused while the bank ends the connection', () => {
  const body = paddedBody(600 * kilobyte);

  async function readPaused(act: Act) {
    await using bank = await startFaultyBank(act);
    await using client = createTestClient(bank.url, { timeoutMs: 120_000, retryShare: 0 });
    return await whilePaused(() =>
      long.run(client, canaries, { customerId: 'c' }).then(
        ({ answer }) => answer,
        (error: unknown) => error,
      ),
    );
  }

  test.each([
    ['chunks', `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`],
    ['a length', `Content-Length: ${body.length}\r\n\r\n${body}`],
    ['no length', `Connection: close\r\n\r\n${body}`],
  ])('comes whole if it has %s', async (_, rest) => {
    const answer = await readPaused((socket) => socket.end(head + rest));
    expect(answer).toMatchObject({ email: 'a@bank.example' });
  });

  test('fails if it is cut off', async () => {
    const rest = `Content-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`;
    expect(await readPaused((socket) => socket.end(head + rest))).toMatchObject({ code: 'BANK_UNAVAILABLE' });
  });
});

test('a read whose answer bankql had no time to take is OVERLOADED, and the bank is not blamed', async () => {
  await using bank = await startFaultyBank(padded(100 * kilobyte));
  const reports: CallReport[] = [];
  await using client = createTestClient(bank.url, {
    timeoutMs: 60_000,
    retryShare: 0,
    onCall: (report) => reports.push(report),
  });
  const paused = vi.spyOn(intake, 'take').mockImplementation((body) => body.pause());
  const read = long.run(client, canaries, { customerId: 'late' }).catch((error: unknown) => error);
  await until(() => paused.mock.calls.length > 0);
  paused.mockRestore();
  letPass(62_000);
  // The next call finds that the timer of the first one is late.
  bank.behave(reply(200, short.reply));
  await short.run(client);
  expect(await read).toMatchObject({ code: 'OVERLOADED' });
  expect(reports.find(({ operation }) => operation === 'getCustomer')).toMatchObject({
    reason: 'no room',
    failure: 'there was no time to read the answer',
  });
});

test('a body that waits to be parsed counts until it is parsed, or nobody needs it any more', async () => {
  await using bank = await startFaultyBank(padded(100 * kilobyte));
  await using client = createTestClient(bank.url);
  const works: (() => void)[] = [];
  const readBudget = { keep: () => true, run: (_bytes: number, work: () => void) => void works.push(work) };
  const operationDeadline = new OperationDeadline();
  const ended: string[] = [];
  const read = (customerId: string) =>
    client.read(
      long.operation as never,
      { ids: { bankId: 'SNDBCY2N', customerId }, credentials: canaries } as never,
      { readBudget, operationDeadline },
      { onAnswer: () => ended.push(customerId), onError: () => ended.push(`no ${customerId}`) },
    );
  read('first');
  read('second');
  await until(() => works.length === 2);
  expect(intake.unparsed).toBeGreaterThan(2 * 100 * kilobyte);
  works[0]?.();
  expect(intake.unparsed).toBeLessThan(2 * 100 * kilobyte);
  operationDeadline.cancel();
  expect(intake.unparsed).toBe(0);
  // Its turn comes all the same.
  works[1]?.();
  expect(intake.unparsed).toBe(0);
  expect(ended).toEqual(['first', 'no second']);
});
