import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createOperationLabel } from '../../src/telemetry/operation-observer.ts';
import { operationNameModes } from '../../src/telemetry/options.ts';

const named = (name: string | null, isPersisted = false) => ({ name, isPersisted });

test('names are those of persisted documents, of all, or of none', () => {
  const [all, persisted, none] = operationNameModes.map(createOperationLabel);
  const shown = (label = createOperationLabel('none')) =>
    [named('A'), named('B', true), named('B'), named(null, true), null].map(label);
  expect(shown(all)).toEqual(['A', 'B', 'B', 'other', 'other']);
  expect(shown(persisted)).toEqual(['other', 'B', 'other', 'other', 'other']);
  expect(shown(none)).toEqual(['other', 'other', 'other', 'other', 'other']);
});

test('there are 200 names at most, whoever asks, and a name stays what it was', () => {
  const operations = fc.array(fc.record({ name: fc.nat(400), isPersisted: fc.boolean() }), {
    maxLength: 1000,
  });
  fc.assert(
    fc.property(fc.constantFrom(...operationNameModes), operations, (mode, asked) => {
      const labelOf = createOperationLabel(mode);
      const labels = asked.map(({ name, isPersisted }) => labelOf(named(`N${name}`, isPersisted)));
      expect(new Set(labels).size).toBeLessThanOrEqual(201);
      expect(asked.map(({ name, isPersisted }) => labelOf(named(`N${name}`, isPersisted)))).toEqual(labels);
    }),
    { numRuns: 20 },
  );
  const labelOf = createOperationLabel('all');
  const labels = Array.from({ length: 250 }, (_, index) => labelOf(named(`N${index}`)));
  expect(labels.filter((label) => label === 'other')).toHaveLength(50);
});
