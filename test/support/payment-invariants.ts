import type { Told } from './payment-client.ts';
import {
  type BankEntry,
  type ClientEntry,
  casesOf,
  type PaymentCase,
  type PaymentHistory,
} from './payment-history.ts';

/** The invariants of every payment. Each function returns the violations of one payment. */
export const invariants = {
  /**
   * Requests that were refused before the payment was read (credentials, a gateway's limit) do not count, because their key is
   * free again.
   */
  'at most one POST for a key while the store keeps its records': ({ sent, records }) => [
    ...(sent.length > 1 ? [`${sent.length} requests: ${sent.map(nameOf).join(', ')}`] : []),
    ...(sent.filter(({ executed }) => executed).length > 1 ? ['executed more than once'] : []),
    ...(records.length > 1 ? [`${records.length} records`] : []),
  ],

  'DONE only with a POST': (one) => {
    const [record] = one.records;
    const request = requestOf(one, record?.trackId);
    const accepted = (entry: BankEntry | undefined) => entry?.ends === 'DONE' && entry.executed;
    return [
      ...(record?.state === 'DONE' && !accepted(request)
        ? [`the record is DONE, and the bank did: ${request?.name ?? 'nothing'}`]
        : []),
      ...answers(one, ['DONE'], ({ trackId }) => {
        const own = requestOf(one, trackId);
        // If the outcome could not be written, the record becomes UNKNOWN.
        if (record === undefined || record.trackId !== trackId || record.state === 'REJECTED')
          return `the record is ${record?.state} of ${record?.trackId}`;
        return accepted(own) ? null : `the bank did: ${own?.name ?? 'nothing'}`;
      }),
    ];
  },

  'REJECTED or reopened only without an execution': (one) => {
    const [record] = one.records;
    const request = requestOf(one, record?.trackId);
    const refused = (entry: BankEntry | undefined, trackId: string | null | undefined) =>
      entry?.ends === 'REJECTED'
        ? !entry.executed
        : // It was proven that nothing was executed, after somebody had been told that it may have been.
          (entry === undefined || entry.ends === 'RELEASED') &&
          (isFree(one, trackId ?? null) || linesOf(one, trackId ?? null).length === 0);
    return [
      ...(record?.state === 'REJECTED' && !refused(request, record.trackId)
        ? [`the record is REJECTED, and the bank did: ${request?.name ?? 'nothing'}`]
        : []),
      ...answers(one, refusals, ({ trackId }) => {
        const own = requestOf(one, trackId);
        if (record?.trackId !== trackId || record?.state === 'DONE')
          return `the record is ${record?.state} of ${record?.trackId}`;
        return refused(own, trackId) ? null : `the bank did: ${own?.name ?? 'nothing'}`;
      }),
      ...answers(one, released, ({ trackId }, { began, ended }) => {
        if (trackId !== null) return `with the Track-ID ${trackId}, as if the bank had refused the payment`;
        const isOwn = ({ at, leftAt }: BankEntry) => began <= at && leftAt <= ended;
        return one.refusedCallers.some(isOwn) ? null : 'no request was refused in the meantime';
      }),
      ...one.sent.flatMap((entry) =>
        isFree(one, entry.arrived.trackId) ? `${nameOf(entry)} was freed` : [],
      ),
    ];
  },

  'a replay gives the first answer': (one) => {
    const { clients } = one;
    const first = clients.filter(({ told }) => told?.code === 'DONE' && !told.replayed);
    return [
      ...(first.length > 1 ? [`told ${first.length} times that it was executed just now`] : []),
      ...clients.flatMap((end) => clients.flatMap((after) => contradiction(one, end, after) ?? [])),
      ...answers(one, ['DONE'], ({ transactionId, trackId }) =>
        transactionId === null || transactionId === `tx-${trackId}`
          ? null
          : `the answer is that of ${transactionId}`,
      ),
      ...answers(one, [], ({ trackId }, { amount }) => {
        const own = requestOf(one, trackId);
        return own === undefined || own.amount === amount
          ? null
          : `its request was for ${own.amount}, not ${amount}`;
      }),
    ];
  },

  'no answer claims that nothing was sent where it was': (one) => [
    ...answers(one, [], ({ code, message }, { began }) =>
      // This answer itself says that the key belongs to another payment.
      code !== 'IDEMPOTENCY_KEY_REUSED' &&
      saysNothingWasSent(message) &&
      one.sent.some(({ at }) => at < began)
        ? `"${message}", and the bank had received a request with this key`
        : null,
    ),
    ...answers(one, ['BANK_UNAVAILABLE', 'BANK_TIMEOUT', 'OVERLOADED'], ({ code, trackId }) => {
      // The request was refused on arrival, by a process that was suspended a moment ago. The answer says nothing about the payment.
      if (code === 'OVERLOADED' && trackId === null) return null;
      const own = requestOf(one, trackId);
      if (own !== undefined) return `the bank received it, and did: ${own.name}`;
      return isFree(one, trackId) ? null : 'its key was not made free again';
    }),
  ],

  'a payment is called unknown only once it was given up': (one) => [
    ...answers(one, ['OUTCOME_UNKNOWN'], ({ trackId, idempotencyKey }, { ended, payment }) => {
      const [record] = one.records;
      if (record?.trackId !== trackId && !mayBeReopened(one, trackId))
        return `the record is ${record?.state} of ${record?.trackId}`;
      if (idempotencyKey !== payment.key) return `with the key ${idempotencyKey}`;
      const leftAt = requestOf(one, trackId)?.leftAt ?? 0;
      if (leftAt > ended) return `it was sent ${Math.round(leftAt - ended)} ms later`;
      const lines = linesOf(one, trackId);
      const begunAt = lines.find(({ state }) => state === 'PENDING')?.begunAt;
      return begunAt === undefined ||
        ended >= begunAt + one.deadlineMs ||
        lines.some(({ state }) => state === 'UNKNOWN')
        ? null
        : `${Math.round(ended - begunAt)} ms after it began`;
    }),
    ...answers(one, ['IDEMPOTENCY_IN_PROGRESS'], ({ trackId }, { phase }) => {
      if (phase === 'after the lease') return 'its lease has ended';
      // An attempt that was in progress at that time, and whose key became free before the next attempt began.
      const isNoOther =
        one.records[0]?.trackId === trackId || requestOf(one, trackId) === undefined || isFree(one, trackId);
      return isNoOther ? null : `the record is of ${one.records[0]?.trackId}`;
    }),
  ],

  'what is sent has its record, and a line in the audit log': (one) => {
    const [record] = one.records;
    const request =
      one.sent[0] ?? one.refusedCallers.find(({ arrived }) => arrived.trackId === record?.trackId);
    const logged = (trackId: string, state: string) =>
      linesOf(one, trackId).some((line) => line.state === state);
    const broken = [...one.sent, ...one.refusedCallers].flatMap(({ arrived: { trackId } }) =>
      logged(trackId, 'PENDING') ? [] : `${trackId} was sent without a line in the audit log`,
    );
    if (one.clients.length === 0) broken.push('nobody asked for it');
    if (record?.state === 'DONE' && !logged(record.trackId, 'DONE'))
      broken.push(`${record.trackId} is DONE without a line in the audit log`);
    if (record?.state === 'PENDING') broken.push('its lease does not end');
    if (request === undefined) return broken;
    if (record === undefined) return [...broken, `${nameOf(request)} was sent, and there is no record`];
    if (nameOf(request) !== record.trackId)
      broken.push(`${nameOf(request)} was sent, and the record is of ${record.trackId}`);
    if (request.amount !== record.amount)
      broken.push(`${request.amount} was sent, and the record says ${record.amount}`);
    return broken;
  },

  'every request has an answer that is one to a payment': (one) => [
    ...one.clients.flatMap(({ told, phase }) =>
      told === null && phase !== 'history' ? `no answer (${phase})` : [],
    ),
    ...answers(one, ['STATE_UNAVAILABLE', 'OVERLOADED'], ({ message }, { phase }) =>
      phase === 'history' ? null : `nothing stands in its way; it says: ${message}`,
    ),
    ...answers(one, ['IDEMPOTENCY_KEY_REUSED'], (_, { amount }) =>
      one.clients.some((other) => other.amount !== amount) ? null : 'nobody asked for another amount',
    ),
    ...answers(one, [], ({ code }) => (known.has(code) ? null : 'which is no answer to a payment')),
  ],
} satisfies Readonly<Record<string, (one: PaymentCase) => readonly string[]>>;

type Invariant = keyof typeof invariants;

/** The place where a history violates an invariant. */
interface Violation {
  readonly invariant: Invariant;
  readonly account: string;
  readonly what: string;
}

export function violationsOf(history: PaymentHistory): Violation[] {
  // The type of Object.entries does not contain the names.
  const all = Object.entries(invariants) as [Invariant, (one: PaymentCase) => readonly string[]][];
  return casesOf(history).flatMap((one) =>
    all.flatMap(([invariant, check]) =>
      [...new Set(check(one))].map((what) => ({ invariant, account: one.account, what })),
    ),
  );
}

export const describeViolation = ({ invariant, account, what }: Violation): string =>
  `payment ${account}: ${what} (${invariant})`;

/** Whether a message says that no earlier request with the same key was sent. */
const saysNothingWasSent = (message: string | null): boolean =>
  /nothing (was|has been) sent|was not sent|never sent/i.test(
    (message ?? '').replace(/never sent again/i, ''),
  );

const refusals: readonly string[] = ['BANK_REJECTED', 'FORBIDDEN', 'NOT_FOUND'];
/** Codes that say nothing about the outcome of the payment with this key. */
const noEnds = ['STATE_UNAVAILABLE', 'IDEMPOTENCY_KEY_REUSED', 'OVERLOADED'];
/** Codes after which the key is free. */
const released: readonly string[] = ['UNAUTHENTICATED', 'RATE_LIMITED'];
const ends = ['DONE', 'OUTCOME_UNKNOWN', ...refusals];
const known: ReadonlySet<string> = new Set([
  ...ends,
  ...noEnds,
  ...released,
  'IDEMPOTENCY_IN_PROGRESS',
  'BANK_UNAVAILABLE',
  'BANK_TIMEOUT',
]);

const nameOf = ({ arrived }: BankEntry): string => arrived.trackId;

const requestOf = ({ sent, refusedCallers }: PaymentCase, trackId: string | null | undefined) =>
  [...sent, ...refusedCallers].find((entry) => nameOf(entry) === trackId);

const linesOf = ({ audit }: PaymentCase, trackId: string | null) => audit.get(trackId ?? '') ?? [];

/** Whether an attempt's key became free again: it was not sent, or the bank refused its caller. */
const isFree = (one: PaymentCase, trackId: string | null): boolean =>
  linesOf(one, trackId).some(({ state }) => state === 'NOT_SENT' || state === 'RELEASED');

/** The violations that `check` finds in answers with these codes, or in all answers if no codes are given. */
function answers(
  { clients }: PaymentCase,
  codes: readonly string[],
  check: (told: Told, entry: ClientEntry) => string | null,
): string[] {
  return clients.flatMap((entry) => {
    const { told, phase } = entry;
    if (told === null || (codes.length > 0 && !codes.includes(told.code))) return [];
    const wrong = check(told, entry);
    return wrong === null ? [] : `told ${told.code} ${told.trackId ?? ''} (${phase}): ${wrong}`;
  });
}

/** Whether it is proven that an attempt executed nothing, so that another one may be made with its key. */
const mayBeReopened = ({ sent }: PaymentCase, trackId: string | null): boolean =>
  sent.every((entry) => nameOf(entry) !== trackId);

/** The contradiction between a later answer and the outcome in an earlier one; null if they agree. */
function contradiction(one: PaymentCase, end: ClientEntry, after: ClientEntry): string | null {
  if (end.told === null || after.told === null || after.began < end.ended) return null;
  if (!ends.includes(end.told.code) || noEnds.includes(after.told.code)) return null;
  const { code, trackId, replayed } = after.told;
  const what = `told ${end.told.code} ${end.told.trackId}, and later ${code} ${trackId}`;
  if (trackId !== end.told.trackId)
    return end.told.code === 'OUTCOME_UNKNOWN' && mayBeReopened(one, end.told.trackId) ? null : what;
  if (code === 'DONE' && !replayed) return `${what}, as if for the first time`;
  if (end.told.code === 'DONE' && refusals.includes(code)) return what;
  return refusals.includes(end.told.code) && code === 'DONE' ? what : null;
}
