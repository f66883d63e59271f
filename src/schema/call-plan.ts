import type { Operation } from '../contract/operation.ts';
import { type CallEstimateOptions, type EstimatedCall, estimateCalls } from './call-estimate.ts';

/** What an operation costs in REST calls, as far as its document and its variables tell. */
export interface CallPlan {
  /** How many calls it makes if the bank has what its arguments name; caches may save some. */
  readonly least: number;
  /** How many it may make, such as `4 + 2n + n²`: n stands for the entries of a list. */
  readonly most: string;
  /** How many calls wait for each other, one for the answer of the one before. */
  readonly rounds: number;
  /** In the order of the answer's fields. Calls that are the same are one. */
  readonly calls: readonly PlannedCall[];
}

export interface PlannedCall {
  /** The field that asks for it, by the names of the answer. */
  readonly path: string;
  /** The REST operation's id in the contract. */
  readonly operation: string;
  readonly method: Operation['method'];
  /** The path of the specification, with its parameters. */
  readonly url: string;
  /** `1`; `0..1` where only a record tells whether it is made; `0..n`, `0..n²` where a list's entries decide. */
  readonly times: string;
  /** After how many answers it can be made, and itself: calls of one round are made at once. */
  readonly round: number;
}

/** Plans an operation; nothing is called. */
export function planCalls(options: Omit<CallEstimateOptions, 'followsRecords'>): CallPlan {
  const { calls, atLeast } = estimateCalls({ ...options, followsRecords: true });
  const isMutation = options.operation.operation === 'mutation';
  return {
    least: atLeast,
    most: mostOf(calls),
    rounds: isMutation ? serialRounds(calls) : deepest(calls),
    calls: calls.map(plannedCall),
  };
}

const plannedCall = ({
  operation,
  place: { path, isCertain, lists, round },
}: EstimatedCall): PlannedCall => ({
  path: path.join('.'),
  operation: operation.id,
  method: operation.method,
  url: operation.path,
  times: isCertain ? '1' : `0..${powerOf(lists)}`,
  round,
});

const superscripts = ['', '', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
const powerOf = (lists: number): string => (lists === 0 ? '1' : `n${superscripts[lists] ?? `^${lists}`}`);

/** How many calls hang on so many lists, by their number: a polynomial in n. */
const countsByLists = (calls: readonly EstimatedCall[]): readonly number[] => {
  const counts: number[] = [];
  for (const { place } of calls) counts[place.lists] = (counts[place.lists] ?? 0) + 1;
  return Array.from(counts, (count) => count ?? 0);
};

function mostOf(calls: readonly EstimatedCall[]): string {
  const terms = countsByLists(calls).flatMap((count, lists) => {
    if (count === 0) return [];
    return lists === 0 ? String(count) : `${count === 1 ? '' : count}${powerOf(lists)}`;
  });
  return terms.length === 0 ? '0' : terms.join(' + ');
}

/** The most calls where no list has more than so many entries. */
export const mostCalls = ({ most }: Pick<CallPlan, 'most'>, entries: number): number =>
  most.split(' + ').reduce((sum, term) => {
    const [, count = '', power] = /^(\d*)(n.*)?$/.exec(term) ?? [];
    const lists =
      power === undefined ? 0 : [...Array(10).keys()].findIndex((n) => n > 0 && powerOf(n) === power);
    return sum + Number(count || 1) * entries ** lists;
  }, 0);

const deepest = (calls: readonly EstimatedCall[]): number =>
  calls.reduce((most, { place }) => Math.max(most, place.round), 0);

/** The fields of a mutation run one after the other. */
function serialRounds(calls: readonly EstimatedCall[]): number {
  const fields = Map.groupBy(calls, ({ place }) => place.path[0]);
  return [...fields.values()].reduce((sum, ofField) => sum + deepest(ofField), 0);
}
