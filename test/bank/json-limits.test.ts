import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  countWhatTakesTooLong,
  maxRecords,
  maxShapes,
  maxValues,
  whatTakesTooLong,
} from '../../src/bank/json-limits.ts';
import { createTestClient, failedCall } from '../support/bank-client.ts';
import { reply, startFaultyBank } from '../support/faulty-bank.ts';
import { sampleCalls } from '../support/sample-calls.ts';

const limits = { maxBodyBytes: 8 * 1024 * 1024, timeoutMs: 60_000 };
const read = sampleCalls.getBranches;
const listOf = (count: number, entry: string) => `[${Array(count).fill(entry).join(',')}]`;
/** Objects of which no two have a name in common. */
const ofManyNames = (count: number) =>
  `[${Array.from({ length: count }, (_, n) => `{"a${n}":1,"b${n}":2,"c${n}":3}`).join()}]`;
const branches = (count: number, entry: string) => `{"branches":${listOf(count, entry)}}`;

describe('an answer that would take long to parse', () => {
  test.each([
    ['empty records', branches(2_700_000, '{}'), `holds more than ${maxValues} values`],
    ['lists', branches(2_700_000, '[]'), `holds more than ${maxValues} values`],
    ['numbers', branches(4_000_000, '1'), `holds more than ${maxValues} values`],
    ['names', `{"branches":${ofManyNames(66_000)}}`, `holds objects of more than ${maxShapes} shapes`],
    [
      'one record of many names',
      `{"branches":[],${Array.from({ length: 60_000 }, (_, n) => `"name${n}":1`).join()}}`,
      `holds objects of more than ${maxShapes} shapes`,
    ],
    ['many records', branches(60_000, '{"id":"b"}'), `lists more than ${maxRecords} records`],
  ])('is BANK_BAD_RESPONSE: %s', async (_, body, what) => {
    await using bank = await startFaultyBank(reply(200, body));
    await using client = createTestClient(bank.url, limits);
    const { error } = await failedCall(read, client);
    expect([error.code, error.message]).toEqual([
      'BANK_BAD_RESPONSE',
      `The bank's answer to getBranches ${what}, which are not read.`,
    ]);
    expect(bank.requests).toHaveLength(1);
  });

  test('is a refusal without words, where it is one', async () => {
    await using bank = await startFaultyBank(reply(404, `{"message":"m","x":${listOf(2_000_000, '1')}}`));
    await using client = createTestClient(bank.url, limits);
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
    await using bank = await startFaultyBank(reply(200, body));
    await using client = createTestClient(bank.url, limits);
    expect((await read.run(client)).answer).toHaveLength(10_000);
  });

  test('is read, whatever stands in its texts', () => {
    const text = String.raw`,{[\"\\`.repeat(maxValues);
    expect(whatTakesTooLong(Buffer.from(`{"branches":[],"text":"${text}"}`))).toBeNull();
  });
});

test('values are counted as JSON has them, up to the last that may be', () => {
  // A list in front of them fills the limit: the values that are left over decide.
  const countOf = (value: unknown): number =>
    typeof value !== 'object' || value === null
      ? 0
      : Math.max(0, Object.keys(value).length - 1) +
        1 +
        Object.values(value).reduce((sum: number, member) => sum + countOf(member), 0);
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.nat(2), fc.boolean(), (value, space, isOver) => {
      // The outer list, the filling list, and the comma between the filling list and the value.
      const fill = maxValues - countOf(value) - 3 + (isOver ? 1 : 0);
      const text = `[${listOf(fill + 1, '10')},${JSON.stringify(value, null, space)}]`;
      expect(whatTakesTooLong(Buffer.from(text))).toBe(isOver ? `more than ${maxValues} values` : null);
    }),
    { seed: 20_261_122, numRuns: 50 },
  );
});

test('shapes are the sequences of names that objects begin with, each counted once', () => {
  // A long text in front of them, so that they are counted.
  const takesTooLong = (objects: readonly string[]) =>
    whatTakesTooLong(Buffer.from(`["${'x'.repeat(300_000)}",${objects.join()}]`)) !== null;
  const repeated = Array.from({ length: 15_000 }, () => [
    '{"a":{"b":1}, "c" :2}',
    '{"c":"}{","a":[{"c":1}]}',
  ]).flat();
  expect(takesTooLong(repeated)).toBe(false);
  const names = Array.from({ length: maxShapes }, (_, n) => `{"n${n}":"m${n}"}`);
  expect(takesTooLong(names.slice(0, maxShapes * 0.98))).toBe(false);
  expect(takesTooLong([...names, ...names.map((text) => text.replace('n', 'o'))])).toBe(true);
  // Few names, in all their orders.
  const orders = (left: readonly string[]): string[] =>
    left.length === 0
      ? ['']
      : left.flatMap((name) =>
          orders(left.filter((each) => each !== name)).map((rest) => `,"${name}":1${rest}`),
        );
  const ordered = orders([...'abcdefgh']).map((text) => `{${text.slice(1)}}`);
  expect(takesTooLong(ordered.slice(0, 1000))).toBe(false);
  expect(takesTooLong(ordered)).toBe(true);
});

describe('a sample finds what would take too long, wherever it stands', () => {
  const filler = '{"id":"branch","name":"a name","address":{"line_1":"a street","city":"a city"}}';
  /** Records of which every `nth` is another than the filler. */
  const mixed = (count: number, nth: number, entry: (index: number) => string) =>
    Buffer.from(
      `{"branches":[${Array.from({ length: count }, (_, n) => (n % nth === 0 ? entry(n) : filler)).join()}]}`,
    );
  const alternatives = (index: number) =>
    `{${Array.from({ length: 16 }, (_, bit) => `"${(index >> bit) & 1 ? 'on' : 'off'}${bit}":1,"x${bit}":1,"y${bit}":1`).join()}}`;

  test.each<readonly [string, Buffer]>([
    [
      'names of which one in ten records has new ones',
      mixed(70_000, 10, (n) => `{"a${n}":1,"b${n}":2,"c${n}":3}`),
    ],
    [
      'new names behind the same ten',
      mixed(30_000, 1, (n) => `{${[...'abcdefghij'].map((name) => `"${name}":1`)},"${n}":1}`),
    ],
    ['names with escaped quotes that end alike', mixed(30_000, 1, (n) => `{"${n}\\"a":1,"${n}\\"b":1}`)],
    ['few names with many gaps between alternatives', mixed(4000, 1, alternatives)],
    [
      'new names at the end',
      Buffer.concat([mixed(70_000, 70_000, () => '{}'), Buffer.from(ofManyNames(15_000))]),
    ],
    ['numbers in one record', mixed(5000, 5000, () => listOf(1_500_000, '1'))],
    ['numbers in each record', mixed(5000, 1, () => `{"a":${listOf(60, '1')}}`)],
    ['indices', mixed(40_000, 1, (n) => `{"${n}":1}`)],
  ])('%s', (_, body) => {
    expect(countWhatTakesTooLong(body)).not.toBeNull();
    for (let time = 0; time < 50; time++) expect(whatTakesTooLong(body)).not.toBeNull();
  });

  test('and does not have a list of the same few shapes counted', () => {
    const body = mixed(20_000, 3, (n) => `{"id":"${n}","name":null,"acceptsDeposits":true}`);
    // Counting takes forty times as long; whether it is done shows in whether all bytes are read.
    let reads = 0;
    const watched = new Proxy(body, {
      get(target, name) {
        reads++;
        return Reflect.get(target, name);
      },
    });
    expect(whatTakesTooLong(watched)).toBeNull();
    expect(reads).toBeLessThan(body.length / 8);
  });
});
