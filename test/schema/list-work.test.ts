import { describe, expect, test } from 'vitest';
import type { Branch } from '../../src/contract/branch.ts';
import { AnswerBudget, AnswerLimitError, unlimited } from '../../src/executor/answer-budget.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { type BranchSearch, branchSelection } from '../../src/schema/branch-search.ts';
import { ListWork } from '../../src/schema/list-work.ts';
import { slices } from '../../src/slices.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

const newWork = () => new ListWork({ budget: new AnswerBudget(unlimited), caller: 'caller' });
const numbers = (count: number) => Array.from({ length: count }, (_, n) => (n * 7919) % count);

/** Branches that count how often a search looks at their place and at their name. */
function countedBranches(count: number) {
  let looks = 0;
  const list = Array.from(
    { length: count },
    (_, n): Branch => ({
      acceptsDeposits: true,
      id: `b${n}`,
      get name() {
        looks++;
        return `City ${n % 10}`;
      },
      get location() {
        looks++;
        return { latitude: (n % 180) - 90, longitude: n % 180 };
      },
    }),
  );
  return { list, looks: () => looks };
}

/** What a search finds. */
const find = (search: BranchSearch, list: readonly Branch[], lists: ListWork) =>
  branchSelection(search)?.(list, lists);

const near = { latitude: 10, longitude: 20 };

describe('a search of a list', () => {
  test.each<[string, BranchSearch]>([
    ['by distance', { near }],
    ['by a text', { search: 'city 3' }],
  ])('%s looks at each entry once in an operation, however often it is asked for', async (_, search) => {
    const { list, looks } = countedBranches(2000);
    const lists = newWork();
    const found = await Promise.all(Array.from({ length: 2000 }, () => find({ ...search }, list, lists)));
    expect(looks()).toBe(2000);
    expect(new Set(found).size).toBe(1);
  });

  test('that fifty operations ask for waits once the time of an iteration of the event loop is used up', async () => {
    const { list, looks } = countedBranches(1000);
    while (slices.hasTime);
    const found = Array.from({ length: 50 }, () => find({ search: 'city 3' }, list, newWork()));
    await Promise.resolve();
    expect(looks()).toBe(0);
    for (const each of await Promise.all(found)) expect(each).toHaveLength(100);
    expect(looks()).toBe(50_000);
  });

  test('is done again for other arguments, another list or another operation', async () => {
    const { list, looks } = countedBranches(10);
    const lists = newWork();
    await find({ search: 'City 1' }, list, lists);
    await find({ search: 'City 2' }, list, lists);
    await find({ search: 'City 1' }, list.slice(5), lists);
    await find({ search: 'City 1' }, list, newWork());
    expect(looks()).toBe(35);
  });

  test('is charged by the length of the list, and ends the operation that searches too much', async () => {
    const lists = newWork();
    const search = (name: string) => {
      const list = numbers(50_000);
      return lists.once(list, name, () => list.filter(() => false));
    };
    await expect(search('a')).resolves.toEqual([]);
    await expect(search('b')).resolves.toEqual([]);
    await expect(search('c')).rejects.toThrow(AnswerLimitError);
  });

  test('fails as its work does', async () => {
    const failing = newWork().once([1], 'fails', () => {
      throw new Error('the work');
    });
    await expect(failing).rejects.toThrow('the work');
  });
});

describe('an operation', () => {
  const branches = Array.from({ length: 2000 }, (_, n) => ({
    id: `b${n}`,
    acceptsDeposits: true,
    name: `City ${n % 10}`,
    location: { latitude: 10, longitude: n / 100 },
  }));

  test.each([
    ['sorted by distance', 'near: { latitude: 1, longitude: 2 }, first: 0', 2000],
    ['with a text', 'search: "city 3"', 200],
    ['with a text that none has', 'search: "none"', 0],
  ])('that asks 2,000 times for branches %s searches one list once', async (_, args, totalCount) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('GET /v1/api/banks/BANK/branches', { body: { branches } });
    const query = `{ bank { branches { nodes { bank { branches(${args}) { totalCount } } } } } }`;
    const result = await fixture.ask(query);
    expect(failuresOf(result)).toEqual([]);
    const each = { bank: { branches: { totalCount } } };
    expect(result.data).toEqual({ bank: { branches: { nodes: branches.map(() => each) } } });
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('that searches in too many ways is refused as a whole', async () => {
    await using fixture = await startBankqlFixture();
    const many = Array.from({ length: 10_000 }, (_, n) => ({
      acceptsDeposits: true,
      id: `b${n}`,
      name: 'b',
    }));
    fixture.bank.on('GET /v1/api/banks/BANK/branches', { body: { branches: many } });
    const ask = (ways: number) =>
      fixture.ask(
        `{ bank { ${Array.from({ length: ways }, (_, n) => `b${n}: branches(search: "${n}") { totalCount }`).join(' ')} } }`,
      );
    expect(failuresOf(await ask(10))).toEqual([]);
    const { data, errors } = await ask(11);
    expect(data).toBeNull();
    expect(errors).toMatchObject([
      {
        message: 'The operation searches more than 100000 list entries; ask for less at a time.',
        extensions: { code: 'LIMIT_EXCEEDED' },
      },
    ]);
  });

  test('that lists the same payments 20 times reads them once', async () => {
    const store = await createMemoryStore({ retentionMs: 86_400_000 });
    const reads: number[] = [];
    const counting: typeof store = Object.assign(Object.create(store), {
      search: (...args: Parameters<typeof store.search>) => {
        reads.push(args[0].limit ?? Infinity);
        return store.search(...args);
      },
    });
    await using fixture = await startBankqlFixture({ store: counting });
    const lists = Array.from({ length: 20 }, (_, n) => `p${n}: payments(first: 20) { nodes { id } }`);
    expect(failuresOf(await fixture.ask(`{ ${lists.join(' ')} }`))).toEqual([]);
    expect(reads).toEqual([21]);
  });
});
