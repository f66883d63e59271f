import type { OperationDefinitionNode } from 'graphql';
import { expect, test, vi } from 'vitest';
import type { PrepareOptions } from '../../src/executor/compile.ts';
import { createBankqlYoga } from '../../src/server/yoga.ts';
import { testOptions } from '../support/bankql.ts';
import { documentOf } from '../support/many-documents.ts';
import { startForgetfulBank } from '../support/many-paths.ts';
import { keptMegabytes } from '../support/memory.ts';

const prepared = vi.hoisted(() => ({ operations: [] as WeakRef<OperationDefinitionNode>[] }));

vi.mock('../../src/executor/compile.ts', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../src/executor/compile.ts')>();
  return {
    ...original,
    prepareOperation(options: PrepareOptions) {
      prepared.operations.push(new WeakRef(options.operation));
      return original.prepareOperation(options);
    },
  };
});

const reachable = (refs: readonly WeakRef<object>[]) =>
  refs.filter((ref) => ref.deref() !== undefined).length;

/** Documents of this size that there is room for, well over what documents.ts counts for each. */
const mostKept = 4000;
/** In megabytes: what all that is kept may take, and what 5,000 more may add. */
const mostMegabytes = 80;
const mostGrowth = 5;

test('10,000 documents, of which half cannot be run, leave no more than there is room for', async () => {
  await using bank = await startForgetfulBank();
  const options = await testOptions({ bankUrl: bank.url });
  const engine = createBankqlYoga({
    ...options,
    unexpected: (error) => {
      throw error;
    },
  });
  const refusals: WeakRef<object>[] = [];
  const ask = async (from: number, to: number) => {
    for (let number = from; number < to; number++) {
      const { text, isValid } = documentOf(number);
      const { data, errors = [] } = await engine.execute(
        { query: text },
        { credentials: { subscriptionKey: 'k', authProviderName: 'p', authId: 'a' } },
      );
      if (isValid) expect(data).toEqual({ bank: { bankId: 'BANK', [`a${number}`]: 'BANK' }, b: 'Query' });
      else {
        expect(errors[0]?.extensions.code).toMatch(/^GRAPHQL_(PARSE|VALIDATION)_FAILED$/);
        // It is kept, and given to all who send the same.
        if (errors[0] !== undefined) refusals.push(new WeakRef(errors[0]));
      }
    }
  };
  await ask(0, 100);
  const empty = await keptMegabytes();
  await ask(100, 5000);
  const full = await keptMegabytes();
  await ask(5000, 10_000);
  const later = await keptMegabytes();

  expect(later - full).toBeLessThan(mostGrowth);
  expect(full - empty).toBeLessThan(mostMegabytes);
  expect(prepared.operations).toHaveLength(5000);
  const kept = reachable(prepared.operations) + reachable(refusals);
  expect(kept).toBeLessThan(mostKept);
  // Those that came last are there.
  expect(reachable(prepared.operations.slice(-50))).toBe(50);
  expect(reachable(refusals.slice(-50))).toBe(50);
  expect(bank.arrived()).toBe(0);
  await options.bank.close();
});
