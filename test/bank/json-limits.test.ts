import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maxRecords, maxValues, whatTakesTooLong } from '../../src/bank/json-limits.ts';
import { connect, failedCall } from '../support/bank-client.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { reply } from '../support/faulty-bank.ts';
import { sampleCalls } from '../support/sample-calls.ts';

const limits = { maxBodyBytes: 8 * 1024 * 1024, timeoutMs: 60_000 };
const read = sampleCalls.getBranches;
const listOf = (count: number, entry: string) => `[${Array(count).fill(entry).join(',')}]`;
const branches = (count: number, entry: string) => `{"branches":${listOf(count, entry)}}`;

describe('an answer that would take long to parse', () => {
  test.each([
    ['empty records', branches(2_700_000, '{}'), `holds more than ${maxValues} values`],
    ['lists', branches(2_700_000, '[]'), `holds more than ${maxValues} values`],
    ['numbers', branches(4_000_000, '1'), `holds more than ${maxValues} values`],
    ['many records', branches(60_000, '{"id":"b"}'), `lists more than ${maxRecords} records`],
  ])('is BANK_BAD_RESPONSE: %s', async (_, body, what) => {
    const { bank, client } = await connect(reply(200, body), limits);
    const { error } = await failedCall(read, client);
    expect([error.code, error.message]).toEqual([
      'BANK_BAD_RESPONSE',
      `The bank's answer to getBranches ${what}, which are not read.`,
    ]);
    expect(bank.requests).toHaveLength(1);
  });

  test('is a refusal without words, where it is one', async () => {
    const { client } = await connect(reply(404, `{"message":"m","x":${listOf(2_000_000, '1')}}`), limits);
    const { error } = await failedCall(read, client);
    expect([error.code, error.message]).toEqual([
      'NOT_FOUND',
      'The bank finds nothing for getBranches (BANK_ID=SNDBCY2N).',
    ]);
  });
});

describe('an answer that is long', () => {
  test('is read: twice as many branches as in the longest list that is measured', async () => {
    const line = (nth: number) => `"line_${nth}":"Makarios Avenue 1, entrance beside the car park"`;
    const address = `{${line(1)},${line(2)},${line(3)},"city":"c","state":"s","postcode":"p","country":"CY"}`;
    const more = `"location":{"latitude":34.6,"longitude":32.4},"lobby":{"is24Hours":true},"meta":{"license":"l"}`;
    const branch = `{"id":"b","bank":"B","name":"n","acceptsDeposits":false,"address":${address},${more}}`;
    const body = branches(10_000, branch);
    const { client } = await connect(reply(200, body), limits);
    expect((await read.run(client)).answer).toHaveLength(10_000);
  });

  test('is read, whatever stands in its texts', () => {
    const text = String.raw`,{[\"\\`.repeat(maxValues);
    expect(whatTakesTooLong(Buffer.from(`{"branches":[],"text":"${text}"}`))).toBeNull();
  });
});

test('values are counted as JSON has them, up to the last that may be', () => {
  // A list of numbers uses up the limit, so that the tested value alone decides whether the text is refused.
  const countOf = (value: unknown): number =>
    typeof value !== 'object' || value === null
      ? 0
      : Math.max(0, Object.keys(value).length - 1) +
        1 +
        Object.values(value).reduce((sum: number, member) => sum + countOf(member), 0);
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.nat(3), fc.boolean(), (value, space, isOver) => {
      // The count includes the outer list, the filling list, and the comma between the filling list and the value.
      const fill = maxValues - countOf(value) - 3 + (isOver ? 1 : 0);
      const text = `[${listOf(fill + 1, '10')},${JSON.stringify(value, null, space)}]`;
      // A body may begin at any offset of its buffer.
      const body = Buffer.from(`${' '.repeat(space)}${text}`).subarray(space);
      expect(whatTakesTooLong(body)).toBe(isOver ? `more than ${maxValues} values` : null);
    }),
    { seed: 20_261_122, numRuns: 15 },
  );
});

describe('a list that is broken throughout', () => {
  test.each([
    ['entries that are no objects', { branches: Array.from({ length: 300_000 }, () => 1) }],
    [
      'entries with a broken value each',
      { branches: Array.from({ length: 50_000 }, () => ({ acceptsDeposits: 1 })) },
    ],
    [
      'a list without end in a record',
      { branches: [{ acceptsDeposits: true, lobby: {}, name: 'n', more: Array(20_000).fill(1) }] },
    ],
  ])('is given up before it costs more than it is worth: %s', async (_what, body) => {
    await using fixture = await startBankqlFixture({ bankOptions: { maxBodyBytes: 20_000_000 } });
    fixture.bank.otherwise({ body });
    const result = await fixture.ask('{ bank { branches { totalCount } } }');
    expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual(['BANK_BAD_RESPONSE']);
    expect(JSON.stringify(result).length).toBeLessThan(1000);
  });
});
