import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Drift, UnreadableAnswer } from '../bank/answer.ts';
import { type BreakerReason, breakerReasons } from '../bank/breaker.ts';
import { gatewayErrors } from '../bank/http-message.ts';
import type { PoolUsage } from '../bank/pools.ts';
import type { CallReport } from '../bank/report.ts';
import type { Operation } from '../contract/operation.ts';
import { operations } from '../contract/operations.ts';
import { BankqlError, detailsOf, type ErrorCode } from '../errors.ts';
import { type TokenRefusal, tokenRefusals } from '../http/auth/jwt-options.ts';
import { currentActivity } from '../http/request-scope.ts';
import { type HttpRefusal, httpRefusals } from '../http/rules.ts';
import { type Resource, resources, type ShedReason, shedReasons } from '../load/capacity.ts';
import type { StrangeAnswer } from '../payments/answer/classify.ts';
import { type AuditEntry, auditedStates } from '../payments/audit.ts';
import { type FailedPayment, paymentRefusals } from '../payments/errors.ts';
import type { RowCounts } from '../payments/store/driver.ts';
import type { StoreCall } from '../payments/store/observed-driver.ts';
import type { PaymentStore, StoreEvent } from '../payments/store/store.ts';
import { version } from '../version.ts';
import { metricsIn } from './metric-kinds.ts';

const idsOf = (kind: Operation['kind']) =>
  Object.values(operations).flatMap((operation) => (operation.kind === kind ? [operation.id] : []));

/**
 * The maximum number of different answers to payments that are logged as not understood, and of different codes in them that
 * become a label.
 */
const maxUnknownAnswers = 100;

/** A code of the bank as a label. A code is short and has no spaces; longer texts become no label. */
const codeLabel = (code: string | undefined): string =>
  code === undefined ? 'none' : /^[\w.-]{1,32}$/.test(code) ? code : 'other';

/**
 * Reports events: as metrics, and as lines of the log. Labels are names of the contract and a fixed set of words, never text of a
 * caller or the bank. If nobody reads metrics, frequent events are not counted.
 */
export function createTelemetry(
  logger: Logger,
  auditLogger: Logger,
  { areMetricsRead = true, droppedLines = (): number => 0 } = {},
) {
  const registry = new Registry();
  const { counter, gauge, histogram, readGauge, readCounter } = metricsIn(registry);
  if (areMetricsRead) collectDefaultMetrics({ register: registry, prefix: 'bankql_' });
  // The lag of the event loop is the maximum of all workers, because an average would hide a slow worker.
  for (const metric of registry.getMetricsAsArray())
    if (/eventloop_lag(?!_min)/.test(metric.name)) Object.assign(metric, { aggregator: 'max' });

  const calls = histogram(
    'bankql_bank_call_seconds',
    'Calls of the bank by bank operation and outcome: the status, or the reason why it is missing.',
    ['bank_operation', 'outcome'],
  );
  const shared = counter(
    'bankql_shared_reads_total',
    'Reads that were answered without a call of their own: joined, cached, or stale.',
    { bank_operation: idsOf('read'), how: ['joined', 'cached', 'stale'] },
  );
  const drifts = counter(
    'bankql_bank_drift_total',
    'Fields of answers that the bank writes otherwise than the specification says, and that were taken for what they mean.',
    { bank_operation: null, field: null },
  );
  const unreadable = counter(
    'bankql_bank_unreadable_answers_total',
    'Successful answers of the bank that could not be read, by bank operation.',
    { bank_operation: Object.keys(operations) },
  );
  const refusedKeys = counter(
    'bankql_subscription_key_refusals_total',
    "Calls that a gateway in front of the bank refused because of the operator's subscription key.",
  );
  const breakers = gauge(
    'bankql_breaker_open',
    '1 while calls of a bank operation are paused, because the bank did not answer them, or slowly.',
    ['bank_operation'],
    'max',
  );
  const openings = counter(
    'bankql_breaker_opened_total',
    'How often calls of a bank operation were paused, by why: most of the bad calls failed, or were slow.',
    { bank_operation: Object.keys(operations), reason: breakerReasons },
  );
  const payments = counter('bankql_payments_total', 'Changes of the states of payments.', {
    bank_operation: idsOf('payment'),
    state: auditedStates,
  });
  const unknownAnswers = counter(
    'bankql_payment_answers_unknown_total',
    "Payments that are UNKNOWN because the bank's answer is not understood.",
    { bank_operation: idsOf('payment') },
  );
  const unknownAnswer = gauge(
    'bankql_payment_answer_unknown',
    "1 for each kind of answer to a payment that was not understood since the start: the status, and the bank's code.",
    ['bank_operation', 'status', 'code'],
    'max',
  );
  const shed = counter(
    'bankql_requests_shed_total',
    'Requests that were refused because callers used too much, by resource.',
    { why: shedReasons },
  );
  const refused = counter('bankql_http_refusals_total', 'Requests refused for reasons of HTTP, by status.', {
    status: httpRefusals.map(String),
  });
  const tokens = counter(
    'bankql_token_refusals_total',
    'Requests whose bearer token was not accepted, or could not be verified, by why.',
    { why: tokenRefusals },
  );
  const rates = counter(
    'bankql_rate_limit_refusals_total',
    'REST calls that were refused because their callers had made too many.',
  );
  readCounter(
    'bankql_log_lines_dropped_total',
    'Lines of the log, those of payments among them, that were dropped because too many waited to be written.',
    droppedLines,
  );
  let isStoreAway = false;
  const storeCalls = histogram(
    'bankql_state_call_seconds',
    'Calls of the payment store by method, failed ones included.',
    ['method'],
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
  );
  const unreadableRecords = counter(
    'bankql_payment_records_unreadable_total',
    'How often a stored record of a payment was found to be damaged.',
  );
  const refusedPayments = counter(
    'bankql_payment_refusals_total',
    'Payments that bankql did not send, by why.',
    { why: paymentRefusals },
  );
  gauge('bankql_build_info', 'The version of bankql; always 1.', ['version'], 'max').set({ version }, 1);
  const seen = new Set<string>();
  const unknownShapes = new Set<string>();
  const unknownCodes = new Set<string>();

  return {
    registry,
    onCall(call: CallReport) {
      const { operation, status, reason, milliseconds } = call;
      if (call.gateway === 'operator key') refusedKeys.inc();
      if (areMetricsRead)
        calls.observe(
          { bank_operation: operation, outcome: status ?? reason ?? 'failed' },
          milliseconds / 1000,
        );
      const activity = currentActivity();
      // Calls that were refused before they had a connection are left out, because they were not sent.
      if (activity !== null && reason !== 'paused' && reason !== 'overloaded') activity.restCalls++;
      logRestCall(logger, call);
    },
    onShared(operation: string, how: 'joined' | 'cached' | 'stale') {
      if (areMetricsRead) shared.inc({ bank_operation: operation, how });
    },
    /** Each drift is counted; the same drift is logged once. */
    onDrift(drift: Drift) {
      const { operation, field } = drift;
      drifts.inc({ bank_operation: operation, field });
      const name = `${operation} ${field}`;
      if (seen.has(name)) return;
      seen.add(name);
      logger.warn(drift, 'the bank drifts from the specification');
    },
    /**
     * Counts each unknown answer. It is logged once for each combination of member names and text; texts that differ only in
     * their digits count as one.
     */
    onUnknownAnswer(answer: StrangeAnswer) {
      const { operation, status, names, text } = answer;
      unknownAnswers.inc({ bank_operation: operation });
      const given = codeLabel(answer.code);
      const code = unknownCodes.has(given) || unknownCodes.size < maxUnknownAnswers ? given : 'other';
      unknownCodes.add(code);
      unknownAnswer.set({ bank_operation: operation, status: String(status), code }, 1);
      const shape = JSON.stringify([operation, status, names, text]).replaceAll(/\d+/g, '0');
      if (unknownShapes.has(shape) || unknownShapes.size >= maxUnknownAnswers) return;
      unknownShapes.add(shape);
      logger.warn(
        answer,
        "bankql does not understand the bank's answer to a payment: the payment is UNKNOWN",
      );
    },
    onUnreadable(answer: UnreadableAnswer) {
      unreadable.inc({ bank_operation: answer.operation });
      logger.warn({ ...answer, reason: 'unreadable' }, 'bank call: its answer cannot be read');
    },
    onBreaker(operation: string, isOpen: boolean, reason: BreakerReason | null) {
      breakers.set({ bank_operation: operation }, isOpen ? 1 : 0);
      if (reason !== null) openings.inc({ bank_operation: operation, reason });
      logger.warn({ operation, reason: reason ?? undefined }, isOpen ? 'calls are paused' : 'calls go on');
    },
    /** Shows the resources that callers use, and the totals. */
    watchHeld(held: (resource: Resource) => number, totals: Readonly<Record<Resource, number>>) {
      const each = (amount: (resource: Resource) => number) => () =>
        resources.map((resource) => [{ resource }, amount(resource)] as const);
      readGauge('bankql_graphql_in_flight', 'Requests that are under way.', () => held('requests'));
      readGauge(
        'bankql_held',
        'The amount that all callers together hold of the process, by resource.',
        each(held),
        ['resource'],
      );
      readGauge(
        'bankql_held_max',
        'How much there is of what callers hold.',
        each((resource) => totals[resource]),
        ['resource'],
      );
    },
    /** Shows for how many days the certificates for the bank are valid, by the variables that name them. */
    watchCertificates(read: () => readonly (readonly [file: string, days: number])[]) {
      readGauge(
        'bankql_bank_certificate_days_left',
        'Days until a certificate for the bank expires, by the variable that names its file.',
        () => read().map(([file, days]) => [{ file }, days] as const),
        ['file'],
        'min',
      );
    },
    onShed: (why: ShedReason) => shed.inc({ why }),
    onHttpRefusal: (status: HttpRefusal) => refused.inc({ status }),
    onTokenRefusal: (why: TokenRefusal) => tokens.inc({ why }),
    onRateRefusal: () => rates.inc(),
    onStoreCall: (method: StoreCall, seconds: number) => storeCalls.observe({ method }, seconds),
    onStoreAway(reason: string) {
      isStoreAway = true;
      logger.error({ reason }, 'the payment store is away: payments are refused, reads go on');
    },
    onStoreBack(awaySeconds: number) {
      isStoreAway = false;
      logger.warn({ awaySeconds }, 'the payment store is back: payments go on');
    },
    onStoreEvent(event: StoreEvent) {
      if (event.kind === 'record-unreadable') unreadableRecords.inc();
      const [level, message] = storeEvents[event.kind];
      logger[level](event, message);
    },
    onPaymentFailure(payment: FailedPayment) {
      if (payment.why !== undefined) refusedPayments.inc({ why: payment.why });
      logFailedPayment(logger, payment);
    },
    /** Reads the store's counts with each scrape. Gauges that need them have no value while the store does not answer. */
    watchStore(store: Pick<PaymentStore, 'count' | 'loss' | 'unwritten'>) {
      let counting: Promise<RowCounts | null> | null = null;
      /**
       * The store's counts; null while the store does not answer, which is reported elsewhere. The gauges of one scrape share a
       * call.
       */
      const recentCounts = () => {
        counting ??= store
          .count()
          .catch(() => null)
          .finally(() => {
            counting = null;
          });
        return counting;
      };
      readGauge(
        'bankql_state_up',
        '1 if payments can be recorded, 0 if they are refused because they cannot.',
        async () => {
          await recentCounts();
          // `loss` counts too: a new connection may notice a loss of records, without a call of the store.
          return isStoreAway || store.loss !== null ? 0 : 1;
        },
        [],
        'min',
      );
      readGauge(
        'bankql_state_lost',
        '1 if records may be missing in the payment store: payments are refused until an operator decides.',
        async () => {
          await recentCounts();
          return store.loss === null ? 0 : 1;
        },
        [],
        'max',
      );
      readGauge(
        'bankql_state_payments',
        'Payments in the store that have not ended: under way, or of unknown outcome.',
        async () => {
          const counts = await recentCounts();
          if (counts === null) return [];
          return [
            [{ state: 'PENDING' }, counts.pending],
            [{ state: 'UNKNOWN' }, counts.unknown],
          ] as const;
        },
        ['state'],
        'max',
      );
      readGauge(
        'bankql_unwritten_ends',
        'Ends of payments that this process knows and the store has not yet.',
        () => store.unwritten,
      );
    },
    onPayment(entry: AuditEntry) {
      payments.inc({ bank_operation: entry.operation, state: entry.state });
      auditLogger.info(entry, 'payment');
    },
  };
}

/** Codes whose messages are not logged, because they may repeat parts of the request. */
const saysInput: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['BAD_USER_INPUT', 'MISSING_CREDENTIALS']);

/**
 * Logs one line for each payment that was requested and not accepted. It has the reason, in the bank's words if there are any.
 * `payment` is the record's id, for `payments list --id`.
 */
function logFailedPayment(logger: Logger, { operation, why, id, error }: FailedPayment): void {
  const { code, status, trackId } = detailsOf(error);
  const reason = error instanceof BankqlError && !saysInput.has(code) ? error.message : undefined;
  // pino leaves out members that are undefined.
  const line = { operation, code, why, status, trackId, payment: id ?? undefined, reason };
  if (code === 'OUTCOME_UNKNOWN') logger.warn(line, 'a payment is of unknown outcome');
  else logger.info(line, 'a payment is refused');
}

/**
 * Logs one line for each attempt of a REST call: at debug, and at warn if the bank failed. A line holds the members of CallReport
 * and an id of the attempt, which is its Track-ID if it has one. The log adds the request's id (log.ts).
 */
function logRestCall(logger: Logger, call: CallReport): void {
  const { status, failure, reason } = call;
  const isTrouble = failure !== null || (status !== null && (status >= 500 || gatewayErrors.has(status)));
  // While a breaker is open, each request causes refused calls. They are not logged as warnings, because the breaker's
  // opening has been logged as one.
  const isNews = isTrouble && reason !== 'cancelled' && reason !== 'paused';
  const level = isNews ? 'warn' : 'debug';
  if (!logger.isLevelEnabled(level)) return;
  const milliseconds = Math.round(call.milliseconds * 10) / 10;
  const callId = call.callId ?? call.trackId ?? randomUUID();
  logger[level]({ ...call, milliseconds, callId }, 'bank call');
}

/** The log's lines for events of the store. */
const storeEvents: Readonly<
  Record<StoreEvent['kind'], readonly [level: 'info' | 'warn' | 'error', message: string]>
> = {
  loss: ['error', 'the payment store has lost records: payments are refused, reads go on'],
  'loss-accepted': ['warn', 'an operator accepted that the payment store lost records'],
  'clock-step': [
    'error',
    "the payment store's clock was set, or differs from bankql's: no record expires for an hour",
  ],
  'records-ahead': [
    'error',
    'the newest payment record is from the future: the clock of the payment store is wrong, or was',
  ],
  notice: ['warn', 'the payment store'],
  'record-unreadable': [
    'error',
    'the stored record of a payment is damaged: answers that need it fail, other payments go on',
  ],
};

/**
 * Adds metrics of the bank's connections (BANK_CONNECTIONS): how many are used, and how many calls wait or had to wait for one.
 */
export function watchPools(registry: Registry, read: () => readonly PoolUsage[]): void {
  const { readGauge, readCounter } = metricsIn(registry);
  const each = (amount: 'taken' | 'waiting') => () =>
    read().map(
      ({ operation, pool, ...usage }) => [{ bank_operation: operation, pool }, usage[amount]] as const,
    );
  const labels = ['bank_operation', 'pool'] as const;
  readGauge(
    'bankql_bank_places_taken',
    'Connections to the bank that calls of a bank operation hold.',
    each('taken'),
    labels,
  );
  readGauge(
    'bankql_bank_places_waited_for',
    'Calls of a bank operation that wait for a connection at the moment.',
    each('waiting'),
    labels,
  );
  readCounter(
    'bankql_bank_place_waits_total',
    'Calls of a bank operation that had to wait for a connection.',
    () => {
      const waits = new Map(read().map((usage) => [usage.operation, usage.waits]));
      // Every operation has a series from the start, because `increase` misses the event that creates a series.
      return Object.values(operations).map(
        ({ id, kind }) =>
          [{ bank_operation: id, pool: kind === 'read' ? 'kept' : 'alone' }, waits.get(id) ?? 0] as const,
      );
    },
    labels,
  );
}
