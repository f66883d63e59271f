import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { BreakerReason } from '../bank/breaker.ts';
import type { PoolUsage } from '../bank/exchange.ts';
import type { CallReport } from '../bank/report.ts';
import type { Drift } from '../bank/response.ts';
import { operations } from '../contract/operations.ts';
import { BankqlError, type ErrorCode } from '../errors.ts';
import { type Resource, resources, type ShedReason, shedReasons } from '../ledger.ts';
import type { FailedPayment, PaymentRefusal } from '../payments/payment-refusals.ts';
import type { AuditEntry } from '../payments/record.ts';
import type { StoreEvent } from '../payments/store.ts';
import type { ObservedStore, StoreOperation } from '../payments/stores/observed-store.ts';
import type { TokenRefusal } from '../server/auth/token-refusal.ts';
import type { RateRefusal } from '../server/rate-limit/rate-limiter.ts';
import type { HttpRefusal } from '../server/request.ts';
import { currentActivity } from '../server/request-scope.ts';
import { version } from '../version.ts';

/**
 * Counters with a known set of labels start at 0: Prometheus' `increase` does not see the event with which a series begins.
 */
function startAtZero(counter: Counter<string>, labels: Readonly<Record<string, readonly string[]>>): void {
  const combinations = Object.entries(labels).reduce<Record<string, string>[]>(
    (all, [label, values]) => all.flatMap((each) => values.map((value) => ({ ...each, [label]: value }))),
    [{}],
  );
  for (const combination of combinations) counter.inc(combination, 0);
}

/** All words of a union: the compiler names one that is missing. */
const words = <Word extends string>(all: Readonly<Record<Word, true>>): readonly string[] => Object.keys(all);

const operationIds = Object.keys(operations);
const paymentIds = Object.values(operations).flatMap(({ id, kind }) => (kind === 'payment' ? [id] : []));

/**
 * Reports events: metrics for machines, a log for people. Labels are names of the contract and a few words of ours,
 * never text of a caller or the bank. If nobody reads metrics, frequent events are not counted.
 */
export function createTelemetry(logger: Logger, auditLogger: Logger, { areMetricsRead = true } = {}) {
  const registry = new Registry();
  const registers = [registry];
  if (areMetricsRead) collectDefaultMetrics({ register: registry, prefix: 'bankql_' });

  const calls = new Histogram({
    name: 'bankql_bank_call_seconds',
    help: 'Calls of the bank by operation and outcome: the status, or the reason why it is missing.',
    labelNames: ['operation', 'outcome'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers,
  });
  const shared = new Counter({
    name: 'bankql_shared_reads_total',
    help: 'Reads that were answered without a call of their own: joined, cached, or stale.',
    labelNames: ['operation', 'how'],
    registers,
  });
  const drifts = new Counter({
    name: 'bankql_bank_drift_total',
    help: 'Values that the bank writes otherwise than the specification says, and that were taken for what they mean.',
    labelNames: ['operation', 'field'],
    registers,
  });
  const breakers = new Gauge({
    name: 'bankql_breaker_open',
    aggregator: 'max',
    help: '1 where calls of an operation are paused, because the bank did not answer them, or slowly.',
    labelNames: ['operation'],
    registers,
  });
  const openings = new Counter({
    name: 'bankql_breaker_opened_total',
    help: 'How often calls of an operation were paused, by why: most of the bad calls failed, or were slow.',
    labelNames: ['operation', 'reason'],
    registers,
  });
  const payments = new Counter({
    name: 'bankql_payments_total',
    help: 'Changes of the states of payments.',
    labelNames: ['operation', 'state'],
    registers,
  });
  const shed = new Counter({
    name: 'bankql_requests_shed_total',
    help: 'What was refused or ended because callers held too much, by what they held.',
    labelNames: ['why'],
    registers,
  });
  const refused = new Counter({
    name: 'bankql_http_refusals_total',
    help: 'Requests refused for reasons of HTTP, by status.',
    labelNames: ['status'],
    registers,
  });
  const tokens = new Counter({
    name: 'bankql_token_refusals_total',
    help: 'Requests whose bearer token was not accepted, or could not be verified, by why.',
    labelNames: ['why'],
    registers,
  });
  const rates = new Counter({
    name: 'bankql_rate_limit_refusals_total',
    help: 'What was over a budget of REST calls: requests, or single calls of them; and whose budget it was.',
    labelNames: ['refused', 'budget'],
    registers,
  });
  const rateStore = new Gauge({
    name: 'bankql_rate_limit_store_up',
    aggregator: 'min',
    help: '0 while the store of RATE_LIMIT_URL is unavailable and each process counts on its own; else 1.',
    registers,
  });
  rateStore.set(1);
  let droppedLines = () => 0;
  new Counter({
    name: 'bankql_log_lines_dropped_total',
    help: 'Lines of the log, those of payments among them, that were dropped because too many waited to be written.',
    registers,
    collect() {
      this.reset();
      this.inc(droppedLines());
    },
  });
  const storeCalls = new Histogram({
    name: 'bankql_state_call_seconds',
    help: 'Calls of the payment store by operation, failed ones included.',
    labelNames: ['operation'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
    registers,
  });
  const unreadableRecords = new Counter({
    name: 'bankql_payment_records_unreadable_total',
    help: 'How often a stored record of a payment was found to be damaged.',
    registers,
  });
  const paymentRefusals = new Counter({
    name: 'bankql_payment_refusals_total',
    help: 'Payments that bankql did not send, by why.',
    labelNames: ['why'],
    registers,
  });
  startAtZero(openings, {
    operation: operationIds,
    reason: words<BreakerReason>({ failed: true, slow: true }),
  });
  startAtZero(payments, {
    operation: paymentIds,
    state: words<AuditEntry['state']>({
      PENDING: true,
      DONE: true,
      REJECTED: true,
      UNKNOWN: true,
      NOT_SENT: true,
      RELEASED: true,
    }),
  });
  startAtZero(shed, { why: shedReasons });
  startAtZero(refused, { status: words<`${HttpRefusal}`>({ 400: true, 413: true, 415: true, 421: true }) });
  startAtZero(tokens, {
    why: words<TokenRefusal>({
      'no token': true,
      expired: true,
      claims: true,
      signature: true,
      algorithm: true,
      key: true,
      'no keys': true,
      malformed: true,
    }),
  });
  startAtZero(rates, {
    refused: words<RateRefusal['refused']>({ request: true, call: true }),
    budget: words<RateRefusal['budget']>({ caller: true, key: true }),
  });
  startAtZero(paymentRefusals, {
    why: words<PaymentRefusal>({
      'store away': true,
      'records lost': true,
      'not logged': true,
      'in progress': true,
      'key reused': true,
      'rate limited': true,
      overloaded: true,
      'bank away': true,
    }),
  });
  new Gauge({
    name: 'bankql_build_info',
    aggregator: 'max',
    help: 'The version of bankql; always 1.',
    labelNames: ['version'],
    registers,
  }).set({ version }, 1);
  const seen = new Set<string>();

  return {
    registry,
    onCall(call: CallReport) {
      const { operation, status, reason, milliseconds } = call;
      if (areMetricsRead)
        calls.observe({ operation, outcome: status ?? reason ?? 'failed' }, milliseconds / 1000);
      const activity = currentActivity();
      // A call without a connection was not made.
      if (activity !== null && reason !== 'paused' && reason !== 'overloaded') activity.restCalls++;
      logRestCall(logger, call);
    },
    onShared(operation: string, how: 'joined' | 'cached' | 'stale') {
      if (areMetricsRead) shared.inc({ operation, how });
    },
    /** Counted each time, logged once. */
    onDrift(drift: Drift) {
      drifts.inc({ ...drift });
      const name = `${drift.operation} ${drift.field}`;
      if (seen.has(name)) return;
      seen.add(name);
      logger.warn(drift, 'the bank drifts from the specification');
    },
    onBreaker(operation: string, isOpen: boolean, reason: BreakerReason | null) {
      breakers.set({ operation }, isOpen ? 1 : 0);
      if (reason !== null) openings.inc({ operation, reason });
      logger.warn({ operation, ...(reason && { reason }) }, isOpen ? 'calls are paused' : 'calls go on');
    },
    /** Shows what callers hold of the process, and how much there is of it. */
    watchHeld(held: (resource: Resource) => number, totals: Readonly<Record<Resource, number>>) {
      const show = (amount: (resource: Resource) => number) =>
        function collect(this: Gauge<'resource'>) {
          for (const resource of resources) this.set({ resource }, amount(resource));
        };
      new Gauge({
        name: 'bankql_held',
        help: 'The amount that all callers together hold of the process, by resource.',
        labelNames: ['resource'],
        registers,
        collect: show(held),
      });
      new Gauge({
        name: 'bankql_held_max',
        help: 'How much there is of what callers hold.',
        labelNames: ['resource'],
        registers,
        collect: show((resource) => totals[resource]),
      });
    },
    /** Where the days are read that certificates for the bank are still valid, by the variables that name them. */
    watchCertificates(read: () => readonly (readonly [file: string, days: number])[]) {
      new Gauge({
        name: 'bankql_bank_certificate_days_left',
        aggregator: 'min',
        help: 'Days until a certificate for the bank expires, by the variable that names its file.',
        labelNames: ['file'],
        registers,
        collect() {
          this.reset();
          for (const [file, days] of read()) this.set({ file }, days);
        },
      });
    },
    /** Where the counter of dropped lines of the log is read. */
    watchDroppedLines(read: () => number) {
      droppedLines = read;
    },
    onShed(why: ShedReason) {
      shed.inc({ why });
    },
    onHttpRefusal(status: HttpRefusal) {
      refused.inc({ status });
    },
    onTokenRefusal(why: TokenRefusal) {
      tokens.inc({ why });
    },
    onRateRefusal({ refused: what, budget }: RateRefusal) {
      rates.inc({ refused: what, budget });
    },
    /** `unavailable`: the reason; null when the store answers again. */
    onRateLimitStore(unavailable: string | null) {
      rateStore.set(unavailable === null ? 1 : 0);
      if (unavailable === null) logger.warn('the store of rate limits is back: processes count together');
      else
        logger.error(
          { reason: unavailable },
          'the store of rate limits is away: each process counts on its own',
        );
    },
    onStoreCall(operation: StoreOperation, seconds: number) {
      storeCalls.observe({ operation }, seconds);
    },
    onStoreAway(reason: string) {
      logger.error({ reason }, 'the payment store is away: payments are refused, reads go on');
    },
    onStoreBack(awaySeconds: number) {
      logger.warn({ awaySeconds }, 'the payment store is back: payments go on');
    },
    onStoreEvent(event: StoreEvent) {
      if (event.kind === 'record-unreadable') unreadableRecords.inc();
      logStoreEvent(logger, event);
    },
    onPaymentFailure(payment: FailedPayment) {
      if (payment.why !== undefined) paymentRefusals.inc({ why: payment.why });
      logFailedPayment(logger, payment);
    },
    /** Reads what the store holds when metrics are read; what it cannot say then is left out. */
    watchStore(store: Pick<ObservedStore, 'isUp' | 'recentStatus'>, unwrittenEnds: () => number) {
      new Gauge({
        name: 'bankql_state_up',
        aggregator: 'min',
        help: '1 if payments can be recorded, 0 if they are refused because they cannot.',
        registers,
        async collect() {
          await store.recentStatus();
          this.set(store.isUp ? 1 : 0);
        },
      });
      new Gauge({
        name: 'bankql_state_payments',
        aggregator: 'max',
        help: 'Payments in the store that have not ended: under way, or of unknown outcome.',
        labelNames: ['state'],
        registers,
        async collect() {
          const status = await store.recentStatus();
          this.reset();
          if (status === null) return;
          this.set({ state: 'PENDING' }, status.pending);
          this.set({ state: 'UNKNOWN' }, status.unknown);
        },
      });
      new Gauge({
        name: 'bankql_unwritten_ends',
        help: 'Ends of payments that this process knows and the store has not yet.',
        registers,
        collect() {
          this.set(unwrittenEnds());
        },
      });
    },
    onPayment(entry: AuditEntry) {
      // What the log repeats happened once.
      if (entry.event === undefined) payments.inc({ operation: entry.operation, state: entry.state });
      auditLogger.info(entry, 'payment');
    },
  };
}

export type Telemetry = ReturnType<typeof createTelemetry>;

/** Messages of these may repeat what the request holds. */
const saysInput: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['BAD_USER_INPUT', 'MISSING_CREDENTIALS']);

/**
 * One line of the log for each payment that was asked for and not accepted: why, in the bank's words if the bank gave
 * the reason. The record is found by `payment`, its id: `payments find --id`.
 */
export function logFailedPayment(logger: Logger, { operation, why, id, error }: FailedPayment): void {
  const isTold = error instanceof BankqlError;
  const code = isTold ? error.code : 'INTERNAL';
  const { status, trackId } = isTold ? error.extensions : {};
  const line = {
    operation,
    code,
    ...(why === undefined ? {} : { why }),
    ...(status === undefined ? {} : { status }),
    ...(trackId === undefined ? {} : { trackId }),
    ...(id === null ? {} : { payment: id }),
    ...(isTold && !saysInput.has(code) ? { reason: error.message } : {}),
  };
  if (code === 'OUTCOME_UNKNOWN') logger.warn(line, 'a payment is of unknown outcome');
  else logger.info(line, 'a payment is refused');
}

/**
 * One line of the log for each attempt of a REST call: at debug, and at warn if the bank failed. A line holds the members
 * of CallReport, and an id of the attempt, which is its Track-ID if it has one; the request that it belongs to is added
 * to every line (log.ts).
 */
export function logRestCall(logger: Logger, call: CallReport): void {
  const { status, failure, reason } = call;
  const isTrouble = failure !== null || (status ?? 0) >= 500;
  // Those of an open breaker come at the rate of requests; that it opened is one line.
  const isNews = isTrouble && reason !== 'cancelled' && reason !== 'paused';
  const level = isNews ? 'warn' : 'debug';
  if (logger.isLevelEnabled(level))
    logger[level]({ ...call, callId: call.callId ?? call.trackId ?? randomUUID() }, 'bank call');
}

/** What the log says of a store's own news. */
const storeEvents = {
  loss: { level: 'error', message: 'the payment store has lost records: payments are refused, reads go on' },
  'loss-accepted': { level: 'warn', message: 'an operator accepted that the payment store lost records' },
  purge: { level: 'warn', message: 'more than a tenth of all payment records have expired' },
  'clocks-differ': {
    level: 'error',
    message:
      "bankql's clock differs from that of the payment store, or jumped ahead: no record expires until they agree",
  },
  'clocks-agree': { level: 'info', message: 'the clocks of the payment store agree again' },
  'mark-failed': { level: 'error', message: "the payment store's high-water mark cannot be written" },
  'record-unreadable': {
    level: 'error',
    message: 'the stored record of a payment is damaged: answers that need it fail, other payments go on',
  },
  'mark-written-again': { level: 'info', message: "the payment store's high-water mark is written again" },
} as const satisfies Record<
  StoreEvent['kind'],
  { readonly level: 'info' | 'warn' | 'error'; readonly message: string }
>;

export function logStoreEvent(logger: Logger, event: StoreEvent): void {
  const { level, message } = storeEvents[event.kind];
  logger[level](event, message);
}

/** The places among BANK_CONNECTIONS, read when metrics are. */
export function watchPools(registry: Registry, read: () => readonly PoolUsage[]): void {
  const registers = [registry];
  const labelNames = ['operation', 'pool'] as const;
  new Gauge({
    name: 'bankql_bank_places_taken',
    help: 'Connections to the bank that calls of an operation hold.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { operation, pool, taken } of read()) this.set({ operation, pool }, taken);
    },
  });
  new Gauge({
    name: 'bankql_bank_places_waited_for',
    help: 'Calls of an operation that wait for a connection at the moment.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { operation, pool, waiting } of read()) this.set({ operation, pool }, waiting);
    },
  });
  new Counter({
    name: 'bankql_bank_place_waits_total',
    help: 'Calls of an operation that had to wait for a connection.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { operation, pool, waits } of read()) this.inc({ operation, pool }, waits);
    },
  });
}
