import type { Operation } from '../../contract/operation.ts';
import { type CallEstimateOptions, type EstimatedCall, estimateCalls } from '../../schema/call-estimate.ts';

/** The cost of an operation in REST calls, as far as its document and variables determine it. */
export interface CallPlan {
  /** The number of calls if the bank has the records that the arguments name; caches may save some. */
  readonly least: number;
  /** The most calls that it may make, such as `4 + 2n + n²`, where n is the number of entries of a list. */
  readonly most: string;
  /** The length of the longest chain of calls that depend on each other's answers. */
  readonly rounds: number;
  /** In the order of the answer's fields; identical calls appear once. */
  readonly calls: readonly PlannedCall[];
}

export interface ExplainedCall {
  /** The field that first needs it, by response names, and list positions if they are known. */
  readonly path: string;
  /** The REST operation's id in the contract. */
  readonly operation: string;
  readonly method: Operation['method'];
  /** The path of the specification, with its parameters: ids are private. */
  readonly url: string;
}

interface PlannedCall extends ExplainedCall {
  /** `1`; `0..1` if only a record tells whether it is made; `0..n`, `0..n²` if it depends on the entries of lists. */
  readonly times: string;
  /** The position in the chain of dependent calls: calls of one round are made at the same time. */
  readonly round: number;
}

/** Plans an operation without making a call. */
export function planCalls(options: Omit<CallEstimateOptions, 'followsRecords'>): CallPlan {
  const calls = estimateCalls({ ...options, followsRecords: true });
  const isMutation = options.operation.operation === 'mutation';
  return {
    least: calls.filter(({ place }) => place.isCertain).length,
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

const powers = ['1', 'n', 'n²', 'n³', 'n⁴', 'n⁵', 'n⁶', 'n⁷', 'n⁸', 'n⁹'];
const powerOf = (lists: number): string => powers[lists] ?? `n^${lists}`;

/** The number of calls by how many lists they are nested in, as a polynomial in n. */
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

/** The most calls if no list has more than this many entries. */
export const mostCalls = ({ calls }: Pick<CallPlan, 'calls'>, entries: number): number =>
  calls.reduce((sum, { times }) => sum + entries ** powers.indexOf(times.replace('0..', '')), 0);

const deepest = (calls: readonly EstimatedCall[]): number =>
  calls.reduce((most, { place }) => Math.max(most, place.round), 0);

/** The fields of a mutation run one after the other. */
function serialRounds(calls: readonly EstimatedCall[]): number {
  const fields = Map.groupBy(calls, ({ place }) => place.path[0]);
  return [...fields.values()].reduce((sum, ofField) => sum + deepest(ofField), 0);
}
