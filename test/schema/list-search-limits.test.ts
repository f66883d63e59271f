import { describe, expect, test, vi } from 'vitest';
import type { Branch } from '../../src/contract/branch.ts';
import { AnswerBudget, unlimited } from '../../src/executor/answer-limits.ts';
import { nobody } from '../../src/load/callers.ts';
import { slices } from '../../src/load/slices.ts';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import { type BranchSearch, branchSelection } from '../../src/schema/branch-search.ts';
import { ListWork } from '../../src/schema/list-work.ts';
import { failuresOf, shareBankqlFixture, startBankqlFixture } from '../support/bankql-fixture.ts';
import { branchesOf } from '../support/records.ts';

const { bank, ask } = await shareBankqlFixture();

const newWork = () => new ListWork({ budget: new AnswerBudget(unlimited), caller: nobody });

/** Branches that count how many times a search reads their names. */
function countedBranches(count: number) {
  let looks = 0;
  const list = Array.from(
    { length: count },
    (_, n): Branch => ({
      acceptsDeposits: true,
      get name() {
        looks++;
        return `City ${n % 10}`;
      },
    }),
  );
  return { list, looks: () => looks };
}

/** The result of a search. */
const find = (search: BranchSearch, list: readonly Branch[], lists: ListWork) =>
  branchSelection(search)?.(list, lists);

describe('the search of a list', () => {
  test('by fifty operations waits when the time of an iteration of the event loop is used up', async () => {
    const { list, looks } = countedBranches(1000);
    while (slices.hasTime);
    const found = Array.from({ length: 50 }, () => find({ search: 'city 3' }, list, newWork()));
    await Promise.resolve();
    expect(looks()).toBe(0);
    for (const each of await Promise.all(found)) expect(each).toHaveLength(100);
    expect(looks()).toBe(50_000);
  });

  test('runs once in an operation, and again for other arguments, another list or another operation', async () => {
    const { list, looks } = countedBranches(10);
    const lists = newWork();
    const same = Array.from({ length: 100 }, () => find({ search: 'City 1' }, list, lists));
    expect(new Set(await Promise.all(same)).size).toBe(1);
    expect(looks()).toBe(10);
    await find({ search: 'City 2' }, list, lists);
    await find({ search: 'City 1' }, list.slice(5), lists);
    await find({ search: 'City 1' }, list, newWork());
    expect(looks()).toBe(35);
  });
});

describe('an operation', () => {
  const serve = (count: number) => {
    const branches = branchesOf(count, (n) => ({
      id: `b${n}`,
      name: `City ${n % 10}`,
      location: { latitude: 10, longitude: n / 100 },
    }));
    bank.on('GET /v1/api/banks/BANK/branches', { body: branches });
  };

  test.each([
    ['sorted by distance', 'near: { latitude: 1, longitude: 2 }, first: 0', 2000],
    ['with a text', 'search: "city 3"', 200],
    ['with a text that none has', 'search: "none"', 0],
  ])('that selects branches %s 2,000 times searches the list once', async (_, args, totalCount) => {
    serve(2000);
    const query = `{ bank { branches { nodes { bank { branches(${args}) { totalCount } } } } } }`;
    const nodes = Array(2000).fill({ bank: { branches: { totalCount } } });
    expect(await ask(query)).toEqual({ data: { bank: { branches: { nodes } } } });
    expect(bank.calls).toHaveLength(1);
  });

  test('that searches too many entries is refused as a whole', async () => {
    serve(10_000);
    const askIn = (ways: number) => {
      const searches = Array.from(
        { length: ways },
        (_, n) => `b${n}: branches(search: "${n}") { totalCount }`,
      );
      return ask(`{ bank { ${searches.join(' ')} } }`);
    };
    expect(failuresOf(await askIn(10))).toEqual([]);
    const { data, errors } = await askIn(11);
    expect(data).toBeNull();
    expect(errors).toMatchObject([
      {
        message: 'The operation searches more than 100000 list entries; ask for less at a time.',
        extensions: { code: 'LIMIT_EXCEEDED' },
      },
    ]);
  });

  test('that lists the same payments 20 times reads them once', async () => {
    const store = createMemoryStore({ retentionMs: 86_400_000 });
    const search = vi.spyOn(store, 'search');
    await using fixture = await startBankqlFixture({ store });
    const lists = Array.from({ length: 20 }, (_, n) => `p${n}: payments(first: 20) { nodes { id } }`);
    expect(failuresOf(await fixture.ask(`{ ${lists.join(' ')} }`))).toEqual([]);
    expect(search.mock.calls.map(([{ limit }]) => limit)).toEqual([21]);
  });
});
