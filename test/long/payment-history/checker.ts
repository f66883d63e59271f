import type { PaymentRecord } from '../../../src/payments/store.ts';
import type { BankEntry } from './cluster.ts';
import type { ClientEntry, History } from './run.ts';

/** What a history proves: how often what happened, and what must not have happened. */
export interface HistoryReport {
  readonly counts: ReadonlyMap<string, number>;
  readonly violations: readonly string[];
}

/** All that is known of one payment. */
interface Case {
  readonly account: string;
  readonly clients: readonly ClientEntry[];
  readonly sent: readonly BankEntry[];
  readonly records: readonly PaymentRecord[];
  /** Track-IDs whose key was made free again, by the audit log. */
  readonly notSent: ReadonlySet<string>;
}

const refusals: ReadonlySet<string> = new Set(['BANK_REJECTED', 'FORBIDDEN', 'NOT_FOUND']);

/** Words that leave no room for an earlier request with the same key. */
export const saysNothingWasSent = (message: string | null): boolean =>
  /nothing (was|has been) sent|was not sent|never sent/i.test(
    (message ?? '').replace(/never sent again/i, ''),
  );

/** Compares what clients were told, what the records say, and what the bank received. */
export function judge({ clients, bank, records, audit, events, misdeeds }: History): HistoryReport {
  const counts = new Map<string, number>();
  const count = (what: string, by = 1) => counts.set(what, (counts.get(what) ?? 0) + by);
  const violations = [...misdeeds];

  const asked = Map.groupBy(clients, ({ payment }) => payment.account);
  const sent = Map.groupBy(bank, ({ arrived }) => arrived.account);
  const kept = Map.groupBy(records, ({ accountId }) => accountId);
  const notSent = new Set(audit.flatMap(({ state, trackId }) => (state === 'NOT_SENT' ? trackId : [])));
  const announced = new Set(audit.flatMap(({ state, trackId }) => (state === 'PENDING' ? trackId : [])));
  const done = new Set(audit.flatMap(({ state, trackId }) => (state === 'DONE' ? trackId : [])));

  for (const account of new Set([...asked.keys(), ...sent.keys(), ...kept.keys()])) {
    const one: Case = {
      account,
      clients: asked.get(account) ?? [],
      sent: sent.get(account) ?? [],
      records: kept.get(account) ?? [],
      notSent,
    };
    const said = (what: string) => violations.push(`payment ${account}: ${what}`);
    for (const what of [
      ...againstTheBank(one),
      ...one.clients.flatMap((entry) => against(entry, one)),
      ...inOrder(one),
    ])
      said(what);
    for (const { arrived } of one.sent)
      if (!announced.has(arrived.trackId))
        said(`${arrived.trackId} was sent without a line in the audit log`);
    for (const { state, trackId } of one.records)
      if (state === 'DONE' && !done.has(trackId)) said(`${trackId} is DONE without a line in the audit log`);
  }

  for (const [kind, times] of events) count(`event: ${kind}`, times);
  count('payments', asked.size);
  count('operations', clients.length);
  for (const { told } of clients) count(`told: ${told === null ? 'no answer' : told.code}`);
  for (const { name } of bank) count(`bank: ${name}`);
  count('bank: requests', bank.length);
  for (const { state } of records) count(`record: ${state}`);
  count('keys made free again', notSent.size);
  return { counts, violations };
}

/** The record against what the bank received. */
function againstTheBank({ sent, records, clients }: Case): string[] {
  const broken: string[] = [];
  const [record] = records;
  const releases = sent.filter(({ ends }) => ends === 'RELEASED');
  const others = sent.filter(({ ends }) => ends !== 'RELEASED');
  // Where the record could not be released, it is still that of the request whose caller was refused.
  const request =
    others[0] ?? releases.find(({ arrived }) => arrived.trackId === record?.trackId) ?? undefined;
  if (clients.length === 0) broken.push('nobody asked for it');
  if (others.length > 1)
    broken.push(`${others.length} requests: ${others.map(({ arrived }) => arrived.trackId).join(', ')}`);
  if (sent.filter(({ executed }) => executed).length > 1) broken.push('executed more than once');
  if (records.length > 1) broken.push(`${records.length} records`);
  if (record === undefined) {
    if (request !== undefined) broken.push(`${request.arrived.trackId} was sent, and there is no record`);
    return broken;
  }
  if (request !== undefined && request.arrived.trackId !== record.trackId)
    broken.push(`${request.arrived.trackId} was sent, and the record is of ${record.trackId}`);
  if (request !== undefined && request.amount !== record.amount)
    broken.push(`${request.amount} was sent, and the record says ${record.amount}`);
  if (record.state === 'PENDING') broken.push('its lease does not end');
  if (record.state === 'DONE' && (request?.ends !== 'DONE' || !request.executed))
    broken.push(`DONE, and the bank did: ${request?.name ?? 'nothing'}`);
  if (record.state === 'REJECTED' && (request?.ends !== 'REJECTED' || request.executed))
    broken.push(`REJECTED, and the bank did: ${request?.name ?? 'nothing'}`);
  return broken;
}

/** One answer against the record and what the bank received. */
function against(
  { told, amount, payment, phase, began }: ClientEntry,
  { sent, records, clients, notSent }: Case,
): string[] {
  if (told === null) return phase === 'history' ? [] : [`no answer (${phase})`];
  const { code, trackId, transactionId, idempotencyKey } = told;
  const [record] = records;
  const request = sent.find(({ arrived }) => arrived.trackId === trackId);
  const broken: string[] = [];
  const must = (holds: boolean, what: string) => {
    if (!holds) broken.push(`told ${code} ${trackId ?? ''} (${phase}): ${what}`);
  };
  const isOfRecord = record?.trackId === trackId;

  // That one says of itself that the key was another payment's.
  must(
    code === 'IDEMPOTENCY_KEY_REUSED' ||
      !saysNothingWasSent(told.message) ||
      !sent.some(({ at, ends }) => at < began && ends !== 'RELEASED'),
    `"${told.message}", and the bank had received a request with this key`,
  );
  if (request !== undefined)
    must(request.amount === amount, `its request was for ${request.amount}, not ${amount}`);
  if (code === 'DONE') {
    must(request?.ends === 'DONE' && request.executed, `the bank did: ${request?.name ?? 'nothing'}`);
    // Where its end could not be written, the record is UNKNOWN in the end.
    must(isOfRecord && record?.state !== 'REJECTED', `the record is ${record?.state} of ${record?.trackId}`);
    if (transactionId !== null)
      must(transactionId === `tx-${trackId}`, `the answer is that of ${transactionId}`);
  } else if (refusals.has(code)) {
    must(request?.ends === 'REJECTED' && !request.executed, `the bank did: ${request?.name ?? 'nothing'}`);
    must(isOfRecord && record?.state !== 'DONE', `the record is ${record?.state} of ${record?.trackId}`);
  } else if (code === 'UNAUTHENTICATED') {
    must(request?.ends === 'RELEASED', `the bank did: ${request?.name ?? 'nothing'}`);
  } else if (code === 'OUTCOME_UNKNOWN') {
    must(isOfRecord, `the record is ${record?.state} of ${record?.trackId}`);
    must(idempotencyKey === payment.key, `with the key ${idempotencyKey}`);
  } else if (code === 'IDEMPOTENCY_IN_PROGRESS') {
    // An attempt that was under way then, and whose key was made free again before another one began.
    const isFreedAgain =
      trackId !== null &&
      (notSent.has(trackId) ||
        sent.some(({ ends, arrived }) => ends === 'RELEASED' && arrived.trackId === trackId));
    must(isOfRecord || request === undefined || isFreedAgain, `the record is of ${record?.trackId}`);
    must(phase !== 'after the lease', 'its lease has ended');
  } else if (
    code === 'BANK_UNAVAILABLE' ||
    code === 'BANK_TIMEOUT' ||
    (code === 'OVERLOADED' && trackId !== null)
  ) {
    must(request === undefined, `the bank received it, and did: ${request?.name}`);
    must(trackId !== null && notSent.has(trackId), 'its key was not made free again');
  } else if (code === 'IDEMPOTENCY_KEY_REUSED') {
    must(
      clients.some((other) => other.amount !== amount),
      'nobody asked for another amount',
    );
  } else if (code === 'STATE_UNAVAILABLE') {
    must(phase === 'history', 'the store is there');
  } else if (code === 'OVERLOADED') {
    // Refused at the door, by a process that was just asleep: it says nothing of the payment.
    must(phase === 'history', 'nothing holds the process up');
  } else must(false, 'which is no answer to a payment');
  return broken;
}

/** What was told after an end had been told. */
function inOrder({ clients }: Case): string[] {
  const broken: string[] = [];
  const first = clients.filter(({ told }) => told?.code === 'DONE' && !told.replayed);
  if (first.length > 1) broken.push(`told ${first.length} times that it was executed just now`);
  const ends = clients.filter(
    ({ told }) =>
      told !== null && (['DONE', 'OUTCOME_UNKNOWN'].includes(told.code) || refusals.has(told.code)),
  );
  for (const end of ends) {
    for (const after of clients) {
      if (after.began < end.ended || after.told === null || end.told === null) continue;
      const { code, trackId, replayed } = after.told;
      if (['STATE_UNAVAILABLE', 'IDEMPOTENCY_KEY_REUSED', 'OVERLOADED'].includes(code)) continue;
      const what = `told ${end.told.code} ${end.told.trackId}, and later ${code} ${trackId}`;
      if (trackId !== end.told.trackId) broken.push(what);
      else if (code === 'DONE' && !replayed) broken.push(`${what}, as if for the first time`);
      else if (end.told.code === 'DONE' && refusals.has(code)) broken.push(what);
      else if (refusals.has(end.told.code) && code === 'DONE') broken.push(what);
    }
  }
  return [...new Set(broken)];
}
