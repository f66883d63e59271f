import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import {
  createFaults,
  type Fault,
  faultKinds,
  faultScenarios,
  parseFaults,
  SandboxError,
} from '../../src/sandbox/faults.ts';
import { freshBank } from './bank-caller.ts';

const docs = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');

test('reads faults, separated by semicolons, with white space wherever it likes', () => {
  expect(parseFaults(' getCustomer : status = 503 : rate = 0.2 ;; *:latency=300:count=5:before ; ')).toEqual([
    { operation: 'getCustomer', kind: 'status', status: 503, rate: 0.2, strikes: 'after' },
    { operation: '*', kind: 'latency', milliseconds: 300, rate: 1, count: 5, strikes: 'before' },
  ]);
  expect(parseFaults('')).toEqual([]);
  expect(parseFaults(' ; ')).toEqual([]);
});

test.each(faultKinds)('knows the kind %s, and so do the docs', (kind) => {
  const parameter = { latency: '=5', status: '=503' }[String(kind)] ?? '';
  expect(parseFaults(`*:${kind}${parameter}`)).toMatchObject([{ kind, strikes: 'after' }]);
  expect(docs).toMatch(new RegExp(`^\\| \`${kind}[\`=]`, 'm'));
});

test('a drip has a pace unless it is given one', () => {
  expect(parseFaults('*:drip; *:drip=5')).toMatchObject([{ milliseconds: 100 }, { milliseconds: 5 }]);
});

describe('scenarios', () => {
  test.each(Object.entries(faultScenarios))(
    '%s stands for its faults, and the docs show them',
    (name, text) => {
      expect(parseFaults(name)).toEqual(parseFaults(text));
      expect(parseFaults(name).length).toBeGreaterThan(0);
      expect(docs).toContain(`| \`${name}\` | \`${text}\` |`);
    },
  );

  test('one goes together with further faults', () => {
    expect(parseFaults('down; getCustomer:hang')).toEqual([
      ...parseFaults('down'),
      ...parseFaults('getCustomer:hang'),
    ]);
  });
});

test.each<[string, string]>([
  [
    'chaos',
    '"chaos": it is neither a scenario (slow-day, flaky, down) nor a fault such as getCustomer:status=503:rate=0.2',
  ],
  [
    'getBalance:hang',
    '"getBalance:hang": operation: give the id of an operation, such as getCustomer, or * for all of them',
  ],
  [
    'constructor:hang',
    '"constructor:hang": operation: give the id of an operation, such as getCustomer, or * for all of them',
  ],
  [
    '*:explode',
    '"*:explode": kind: give one of latency, status, reset, hang, drip, cut-off, broken-json, wrong-types and drift as the kind',
  ],
  ['*:latency', '"*:latency": milliseconds: give whole milliseconds from 1 to 600000, such as latency=300'],
  [
    '*:latency=1.5',
    '"*:latency=1.5": milliseconds: give whole milliseconds from 1 to 600000, such as latency=300',
  ],
  ['*:drip=fast', '"*:drip=fast": milliseconds: give whole milliseconds from 1 to 600000, such as drip=50'],
  ['*:status', '"*:status": status: give a status from 300 to 599, such as status=503'],
  ['*:status=200', '"*:status=200": status: give a status from 300 to 599, such as status=503'],
  ['*:status=0x1f7', '"*:status=0x1f7": status: give a status from 300 to 599, such as status=503'],
  ['*:reset=5', '"*:reset=5": reset takes no value: leave out =5'],
  ['*:constructor=5', '"*:constructor=5": constructor takes no value: leave out =5'],
  ['*:hang:rate=2', '"*:hang:rate=2": rate: give a share from 0 to 1, such as rate=0.2'],
  ['*:hang:rate=-1', '"*:hang:rate=-1": rate: give a share from 0 to 1, such as rate=0.2'],
  ['*:hang:rate=', '"*:hang:rate=": rate: give a share from 0 to 1, such as rate=0.2'],
  ['*:hang:count=0', '"*:hang:count=0": count: give a whole number of calls from 1, such as count=3'],
  ['*:hang:rat=0.5', '"*:hang:rat=0.5": "rat=0.5" is no setting: give rate=…, count=…, before or after'],
  ['*:hang:rate', '"*:hang:rate": "rate" is no setting: give rate=…, count=…, before or after'],
  ['*:hang:before:after', '"*:hang:before:after": strikes is given twice: leave one out'],
  ['*:hang:rate=0.1:rate=0.2', '"*:hang:rate=0.1:rate=0.2": rate is given twice: leave one out'],
  [
    '*:drift:before',
    '"*:drift:before": strikes: this kind spoils an answer, so that it always strikes after the work',
  ],
  ['getCustomer:status=503; flaki', '"flaki": it is neither'],
])('%s is refused, in one line that names the part and the remedy', async (text, message) => {
  const parse = () => parseFaults(text);
  expect(parse).toThrow(SandboxError);
  expect(parse).toThrow(expect.objectContaining({ message: expect.stringMatching(/^"[^\n]+$/) }));
  expect(parse).toThrow(message);
  await expect(freshBank({ faults: text })).rejects.toThrow(message);
});

/** Which of the next calls of an operation are struck by something. */
const fates = (faults: ReturnType<typeof createFaults>, operation: OperationId, calls: number) =>
  Array.from({ length: calls }, () => faults.draw(operation).length > 0);
const kinds = (drawn: readonly Fault[]) => drawn.map(({ kind }) => kind);

test('a rate is about kept, and the nth call of an operation always fares the same', () => {
  const text = '*:reset:rate=0.2';
  const once = fates(createFaults(parseFaults(text)), 'getCustomer', 1000);
  expect(once.filter(Boolean).length).toBeGreaterThan(160);
  expect(once.filter(Boolean).length).toBeLessThan(240);

  const mixed = createFaults(parseFaults(text));
  const again = once.map(() => {
    fates(mixed, 'getBranches', 2);
    return mixed.draw('getCustomer').length > 0;
  });
  expect(again).toEqual(once);
  expect(fates(createFaults(parseFaults(text)), 'getBranches', 1000)).not.toEqual(once);
});

test('a rate of 0 never strikes, one of 1 always', () => {
  expect(fates(createFaults(parseFaults('*:reset:rate=0')), 'getCustomer', 100)).not.toContain(true);
  expect(fates(createFaults(parseFaults('*:reset:rate=1')), 'getCustomer', 100)).not.toContain(false);
});

test('a count over all operations is shared by them', () => {
  const faults = createFaults(parseFaults('*:hang:count=2'));
  expect(fates(faults, 'getBranches', 1)).toEqual([true]);
  expect(fates(faults, 'getCustomer', 2)).toEqual([true, false]);
});

test('latencies add up, and of the others the first that hits ends the call', () => {
  const faults = createFaults(
    parseFaults('*:latency=1; *:status=500:count=1; getCustomer:latency=2; *:reset:count=1'),
  );
  expect(kinds(faults.draw('getCustomer'))).toEqual(['latency', 'status', 'latency']);
  expect(kinds(faults.draw('getBranches'))).toEqual(['latency', 'reset']);
  expect(kinds(faults.draw('getBranches'))).toEqual(['latency']);
  expect(faults.list().map(({ kind, struck }) => [kind, struck])).toEqual([
    ['latency', 3],
    ['status', 1],
    ['latency', 1],
    ['reset', 1],
  ]);
});

test('other faults begin with a count of their own', () => {
  const faults = createFaults(parseFaults('*:hang:count=1'));
  expect(fates(faults, 'getCustomer', 2)).toEqual([true, false]);
  faults.replace(parseFaults('*:hang:count=1'));
  expect(faults.list()).toEqual([
    { operation: '*', kind: 'hang', rate: 1, count: 1, strikes: 'after', struck: 0 },
  ]);
  expect(fates(faults, 'getCustomer', 2)).toEqual([true, false]);
  faults.replace([]);
  expect(faults.draw('getCustomer')).toEqual([]);
});
