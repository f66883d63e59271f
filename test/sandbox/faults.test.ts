import { expect, test } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import type { Fault } from '../../src/sandbox/faults/fault.ts';
import { parseFaults } from '../../src/sandbox/faults/text.ts';
import { createFaults } from '../../src/sandbox/faults.ts';

/** Which of the next calls of an operation are struck by something. */
const fates = (faults: ReturnType<typeof createFaults>, operation: OperationId, calls: number) =>
  Array.from({ length: calls }, () => faults.draw(operation).length > 0);
const kinds = (drawn: readonly Fault[]) => drawn.map(({ kind }) => kind);

test('nothing strikes where there are no faults', () => {
  expect(createFaults([]).draw('getCustomer')).toEqual([]);
});

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

test('a count strikes the next n calls, of the operation alone where it names one', () => {
  const faults = createFaults(parseFaults('getCustomer:hang:count=2'));
  expect(fates(faults, 'getBranches', 3)).toEqual([false, false, false]);
  expect(fates(faults, 'getCustomer', 4)).toEqual([true, true, false, false]);
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
