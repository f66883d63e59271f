import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { connect, createTestClient, failedCall } from '../support/bank-client.ts';
import { bad, broken, type Fault, faults, head, hidden, late } from '../support/faults.ts';
import {
  type Act,
  answer,
  drip,
  type FaultyBank,
  lineOf,
  reply,
  startFaultyBank,
  write,
  writeThen,
} from '../support/faulty-bank.ts';
import { inTimeMs } from '../support/in-time.ts';
import { type SampleCall, sampleCalls } from '../support/sample-calls.ts';

/** The deadlines are long, except in the tests in which the bank never answers. */
const limits = { timeoutMs: 60_000, connectTimeoutMs: 60_000, maxBodyBytes: 64 * 1024 };
const lateDeadlineMs = 400;

const read = sampleCalls.getBranches;
const change = sampleCalls.putCustomerID;

const retryable = new Set(['RATE_LIMITED', 'BANK_UNAVAILABLE', 'BANK_TIMEOUT']);

/** Makes one call that fails with this fault, and one that the same client serves after the bank has recovered. */
async function expectFault(fault: Fault, sample: SampleCall) {
  await using bank = await startFaultyBank();
  const isLate = fault.codes === late;
  await using client = createTestClient(bank.url, isLate ? { ...limits, timeoutMs: lateDeadlineMs } : limits);
  bank.behave(fault.act);

  const { error, elapsedMs } = await failedCall(sample, client);
  expect(elapsedMs).toBeLessThan(inTimeMs);
  if (isLate) expect(elapsedMs).toBeGreaterThan(lateDeadlineMs - 20);
  const code = fault.codes[sample.operation.kind === 'read' ? 0 : 1];
  expect(error.message).not.toContain(hidden);
  expect(error.extensions).toEqual({
    code,
    operation: sample.operation.id,
    retryable: retryable.has(code),
    ...(fault.status === undefined ? {} : { status: fault.status }),
    ...(retryable.has(code) ? { retryAfter: fault.retryAfter ?? 1 } : {}),
    ...(sample.operation.tracked ? { trackId: trackIdAt(bank) } : {}),
  });
  // An incomplete answer leaves no open connection.
  if (fault.status === undefined) await expect.poll(bank.open, { interval: 5 }).toBe(0);
  expect(bank.requests).toHaveLength(1);
  expect(bank.connections()).toBe(1);

  bank.requests.length = 0;
  bank.behave(reply(200, sample.reply));
  let served = await sample.run(client).catch(() => null);
  const isFirst = served !== null;
  // On a busy machine, a healthy bank may be late as well.
  while (isLate && served === null) served = await sample.run(client).catch(() => null);
  expect(served?.answer).toEqual(sample.answer);
  if (isFirst) expect(bank.requests.map(lineOf)).toEqual([`${sample.line} HTTP/1.1`]);
}

/** The Track-ID that the bank received. */
const trackIdAt = ({ requests }: FaultyBank) =>
  /\r\ntrack-id: ([0-9a-f-]{36})\r\n/i.exec(requests[0] ?? '')?.[1];

describe.each(faults)('a bank that $what', (fault) => {
  test(`fails a read with ${fault.codes[0]}, once`, () => expectFault(fault, read));
  test(`fails a write with ${fault.codes[1]}, once`, () => expectFault(fault, change));
});

describe('an answer that is odd and good', () => {
  test.each([
    'application/json; charset=utf-8',
    'application/problem+json',
    'Application/JSON',
    'text/json',
    '',
  ])('content type "%s" is read', async (type) => {
    const { bank, client } = await connect(reply(200, read.reply, { 'Content-Type': type }), limits);
    expect((await read.run(client)).answer).toEqual(read.answer);
    expect(bank.requests).toHaveLength(1);
  });

  test.each<[string, Act]>([
    ...['identity', 'Identity', '', 'UTF-8', 'utf8', 'us-ascii', 'ISO-8859-1'].map(
      (encoding): [string, Act] => [
        `with content encoding "${encoding}"`,
        reply(200, read.reply, { 'Content-Encoding': encoding }),
      ],
    ),
    [
      'after early hints',
      write('HTTP/1.1 103 Early Hints\r\nContent-Encoding: br\r\n\r\n', answer(200, read.reply)),
    ],
    [
      'in chunks',
      write(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"bra\r\na\r\nnches":[]}\r\n0\r\n\r\n`),
    ],
    ['without a length, up to the end of the connection', writeThen('end', `${head}\r\n${read.reply}`)],
    ['in HTTP/1.0', writeThen('end', `HTTP/1.0 200 OK\r\n\r\n${read.reply}`)],
    ['byte by byte', drip(answer(200, read.reply).toString(), 1)],
    ['with status 201', reply(201, read.reply)],
    ['without a body, for a list', write(`${head}Content-Length: 0\r\n\r\n`)],
    ['without a chunk, for a list', write(`${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)],
    ['as long as it may be', reply(200, read.reply.padEnd(limits.maxBodyBytes))],
  ])('is read: %s', async (_, act) => {
    const { bank, client } = await connect(act, limits);
    expect((await read.run(client)).answer).toEqual(read.answer);
    expect(bank.requests).toHaveLength(1);
  });
});

test('an empty body that only the end of the connection ends may have been cut off: a list is not empty by it', async () => {
  const { bank, client } = await connect(writeThen('end', `${head}\r\n`), limits);
  expect((await failedCall(read, client)).error.extensions).toMatchObject({ code: 'BANK_BAD_RESPONSE' });
  expect(bank.requests).toHaveLength(1);
});

describe('an answer that is not read, because it is encoded or too long, counts by its status', () => {
  const page = 'x'.repeat(limits.maxBodyBytes + 1);
  test.each([
    ['503 in gzip', reply(503, gzipSync('{}'), { 'Content-Encoding': 'gzip' }), 503, broken],
    ['503 with a long page', reply(503, page, { 'Content-Type': 'text/html' }), 503, broken],
    [
      '404 in gzip',
      reply(404, gzipSync('{}'), { 'Content-Encoding': 'gzip' }),
      404,
      ['NOT_FOUND', 'NOT_FOUND'],
    ],
  ] as const)('%s', async (_, act, status, [ofRead, ofWrite]) => {
    const { bank, client } = await connect(act, limits);
    expect((await failedCall(read, client)).error.extensions).toMatchObject({ code: ofRead, status });
    expect((await failedCall(change, client)).error.extensions).toMatchObject({ code: ofWrite, status });
    expect(bank.requests).toHaveLength(2);
  });
});

test('an encoding that was not asked for is named, and headers that are too long do not pause the calls', async () => {
  const long = write(`${head}X: ${'x'.repeat(20_000)}\r\n\r\n{}`);
  const { bank, client } = await connect(long, { ...limits, breakerThreshold: 0.01 });
  for (let call = 0; call < 25; call++)
    expect((await failedCall(read, client)).error.message).toBe(
      "The bank's answer to getBranches is not read: its headers are longer than 16384 bytes.",
    );
  bank.behave(reply(200, '{}', { 'Content-Encoding': 'aws-chunked' }));
  expect((await failedCall(read, client)).error.message).toBe(
    'The bank\'s answer to getBranches is not read: it has the Content-Encoding "aws-chunked", although bankql asks for an answer without encoding.',
  );
  expect(bank.requests).toHaveLength(26);
});

test.each([301, 302, 303, 307, 308])(
  'a redirect is not followed, neither by a read nor by a write, neither to another bank nor to the same: %i',
  async (status) => {
    await using elsewhere = await startFaultyBank(reply(200, read.reply));
    const path = '/v1/api/banks/SNDBCY2N/branches';
    for (const Location of [elsewhere.url + path, path]) {
      const act = reply(status, '{}', { Location });
      const fault: Fault = { what: 'redirects', act, codes: bad, status };
      await expectFault(fault, read);
      await expectFault(fault, change);
    }
    expect(elsewhere.connections()).toBe(0);
  },
);
