import { casesOf } from '../../support/payment-history.ts';
import { describeViolation, violationsOf } from '../../support/payment-invariants.ts';
import { deadlineMs } from './cluster.ts';
import type { History } from './run.ts';

/** The result of checking a history: the number of events of each kind, and the violations. */
interface HistoryReport {
  readonly counts: ReadonlyMap<string, number>;
  readonly violations: readonly string[];
}

/** Checks a history against the invariants of payments. */
export function judge({ clients, bank, records, audit, events, misdeeds, errors }: History): HistoryReport {
  const history = { clients, bank, records, audit, deadlineMs };
  const counts = new Map<string, number>();
  const count = (what: string, by = 1) => counts.set(what, (counts.get(what) ?? 0) + by);

  for (const [kind, times] of events) count(`event: ${kind}`, times);
  count('payments', casesOf(history).length);
  count('operations', clients.length);
  for (const { told } of clients) count(`told: ${told === null ? 'no answer' : told.code}`);
  for (const { name } of bank) count(`bank: ${name}`);
  count('bank: requests', bank.length);
  for (const { state } of records) count(`record: ${state}`);
  for (const [text, times] of errors) count(`logged: ${text}`, times);
  count('keys made free again', audit.filter(({ state }) => state === 'NOT_SENT').length);
  return { counts, violations: [...misdeeds, ...violationsOf(history).map(describeViolation)] };
}
