import { expect, test } from 'vitest';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import type { RecordedCall, Reply } from '../support/recording-bank.ts';
import { turns } from '../support/waits.ts';

/**
 * Random interleavings of queries and updates by three callers, with all caches on. The seed determines when the bank
 * executes and answers each call, and which calls fail. A model knows every state that a record had:
 *
 * - a PUT changes nothing but the fields that its update names;
 * - all fields of a record that an answer shows are of one state, which is no older than the caller's own last update.
 */

const kinds = {
  customer: {
    update: 'updateCustomer',
    id: 'customerId',
    fields: { email: 'email', legalName: 'legal_name' },
  },
  branch: { update: 'updateBranch', id: 'branchId', fields: { name: 'name', bankName: 'bank' } },
} as const;
type Kind = keyof typeof kinds;
type Values = Readonly<Record<string, unknown>>;

const records: readonly (readonly [Kind, string])[] = [
  ['customer', 'C'],
  ['branch', 'B'],
];
const callers = [
  ['key', 'provider', 'id'],
  ['key', 'other', 'id'],
  ['key-2', 'provider', 'id'],
].map(([key = '', provider = '', id = '']) => ({
  'Ocp-Apim-Subscription-Key': key,
  'Auth-Provider-Name': provider,
  'Auth-ID': id,
}));
const operations = 100;

/** Pseudo-random numbers from 0 up to 1, the same for the same seed: mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface BankCall {
  readonly call: RecordedCall;
  readonly answer: (reply: Reply | 'reset') => void;
  reply: Reply | 'reset' | null;
}

test.each([1, 2])(
  'no update is lost, and no read is older than the caller’s own update (seed %i)',
  async (seed) => {
    const draw = randomOf(seed);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(draw() * list.length)] as T;

    await using fixture = await startBankqlFixture({ bankOptions: { publicCacheTtlMs: 1e8 } });
    const calls: BankCall[] = [];
    fixture.bank.otherwise((call) => new Promise((answer) => calls.push({ call, answer, reply: null })));

    let step = 0;
    const problems: string[] = [];
    /** Every state of each record, with the step in which it began. */
    const states = new Map<string, { readonly since: number; readonly values: Values }[]>();
    for (const [kind, id] of records)
      states.set(id, [
        {
          since: 0,
          values:
            kind === 'branch' ? { acceptsDeposits: true, id, name: 'n' } : { email: 'e', metadata: ['m'] },
        },
      ]);
    const statesOf = (id: string) => states.get(id) ?? [];
    const now = (id: string): Values => statesOf(id).at(-1)?.values ?? {};

    /** All fields that an update changes get the same value, which no other update uses. */
    const named = new Map<string, readonly string[]>();

    function executePut({ path, body }: RecordedCall): Reply | 'reset' {
      const fate = draw();
      if (fate < 0.1) return { status: 500, body: 'not done' };
      const id = path.slice(path.lastIndexOf('/') + 1);
      const [before, sent] = [now(id), JSON.parse(body)];
      const values: Values = { ...sent, ...(before.metadata !== undefined && { metadata: before.metadata }) };
      const changed = Object.keys({ ...before, ...values }).filter(
        (name) => JSON.stringify(before[name]) !== JSON.stringify(values[name]),
      );
      const isNamed = (name: string) => named.get(String(values[name]))?.includes(name) === true;
      if (new Set(changed.map((name) => values[name])).size > 1 || !changed.every(isNamed))
        problems.push(`a PUT makes of ${JSON.stringify(before)} ${body}`);
      statesOf(id).push({ since: step, values });
      if (fate < 0.2) return { status: 502, body: 'done' };
      if (fate < 0.3) return 'reset';
      return { body: fate < 0.4 ? '{"email":' : fate < 0.6 ? {} : fate < 0.7 ? sent : values };
    }

    function execute({ method, path, ...call }: RecordedCall): Reply | 'reset' {
      if (method === 'PUT') return executePut({ method, path, ...call });
      const fate = draw();
      if (fate < 0.1) return fate < 0.05 ? 'reset' : { status: 500, body: 'no' };
      if (path.endsWith('/branches')) return { body: { branches: [now('B')] } };
      return { body: now(path.slice(path.lastIndexOf('/') + 1)) };
    }

    /**
     * For each caller and record: the step of the caller's last update that the bank has executed and bankql has
     * answered.
     */
    const own = new Map<string, number>();
    let underWay = 0;

    /** Checks a record in the answer of this step. */
    function check(
      what: string,
      kind: Kind,
      id: string,
      node: Values | null | undefined,
      since: number,
    ): void {
      if (node == null) return;
      const shown = Object.entries(kinds[kind].fields);
      const isOne = statesOf(id).some(
        ({ values }, at, all) =>
          (all[at + 1]?.since ?? step + 1) > since &&
          shown.every(([name, rest]) => (values[rest] ?? null) === node[name]),
      );
      if (!isOne) problems.push(`${what} after ${since}: ${JSON.stringify([node, statesOf(id)])}`);
    }

    async function operate(number: number): Promise<void> {
      const caller = Math.floor(draw() * callers.length);
      const [kind, id] = pick(records);
      const { update, id: idName, fields } = kinds[kind];
      const place = `${caller} ${id}`;
      const since = own.get(place) ?? 0;
      const selection = Object.keys(fields).join(' ');
      const ask = (query: string) =>
        fixture.ask<Record<string, Record<string, Values>>, never>(query, undefined, callers[caller]);
      if (draw() < 0.5) {
        const { data } = await ask(`{ bank { ${kind}(${idName}: "${id}") { ${selection} } } }`);
        check('query', kind, id, data?.bank?.[kind] as Values, since);
        return;
      }
      const updates = [0, 1].slice(0, draw() < 0.3 ? 2 : 1).map((at) => {
        const value = `${number} ${at}`;
        const all = Object.entries(fields);
        const some = draw() < 0.4 ? all : [pick(all)];
        named.set(
          value,
          some.map(([, rest]) => rest),
        );
        const changes = some.map(([name]) => `${name}: "${value}"`).join(', ');
        return { value, changes, alias: `a${at}` };
      });
      const { data } = await ask(
        `mutation { ${updates
          .map(
            ({ alias, changes }) =>
              `${alias}: ${update}(input: { ${idName}: "${id}", changes: { ${changes} } }) { trackId ${kind} { ${selection} } }`,
          )
          .join(' ')} }`,
      );
      for (const { alias, value } of updates) {
        const executed = statesOf(id).find(({ values }) => Object.values(values).includes(value))?.since;
        if (executed !== undefined) own.set(place, Math.max(executed, own.get(place) ?? 0));
        const payload = data?.[alias];
        if (payload?.trackId && executed === undefined) problems.push(`${value} is not written`);
        check('payload', kind, id, payload?.[kind], executed ?? 0);
      }
    }

    /** One step: an operation begins, or the bank executes a call or answers one. */
    function proceed(begun: number): boolean {
      const [waiting, executed] = [
        calls.filter(({ reply }) => reply === null),
        calls.filter(({ reply }) => reply !== null),
      ];
      const chance = draw();
      if (begun < operations && underWay < 8 && (chance < 0.35 || calls.length === 0)) {
        underWay++;
        void operate(begun)
          .catch((error) => problems.push(String(error)))
          .finally(() => underWay--);
        return true;
      }
      if (waiting.length > 0 && (chance < 0.7 || executed.length === 0)) {
        const next = pick(waiting);
        next.reply = execute(next.call);
      } else if (executed.length > 0) {
        const next = pick(executed);
        calls.splice(calls.indexOf(next), 1);
        next.answer(next.reply ?? 'reset');
      }
      return false;
    }

    for (let begun = 0; begun < operations || underWay > 0; step++) {
      if (proceed(begun)) begun++;
      await turns(6);
    }
    expect(problems).toEqual([]);
    expect([...states.values()].every(({ length }) => length > 3)).toBe(true);
  },
);
