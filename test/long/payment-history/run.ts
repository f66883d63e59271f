import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { PaymentRecord, PaymentState } from '../../../src/payments/payment-record.ts';
import { openStore } from '../../../src/payments/store/open-store.ts';
import type { PaymentStore } from '../../../src/payments/store/store.ts';
import { logLines } from '../../support/log-lines.ts';
import { pay, transfer } from '../../support/payment-client.ts';
import type { AuditLine, BankEntry, ClientEntry } from '../../support/payment-history.ts';
import type { StateKind } from '../../support/payment-states.ts';
import { type Cluster, deadlineMs, startCluster } from './cluster.ts';
import type { ChaosEvent, PlannedPayment, Workload } from './workload.ts';

/** The observations of a run. Times are of `performance.now()`. */
export interface History {
  readonly clients: readonly ClientEntry[];
  readonly bank: readonly BankEntry[];
  readonly records: readonly PaymentRecord[];
  readonly audit: readonly AuditLine[];
  readonly events: Cluster['events'];
  readonly misdeeds: readonly string[];
  /** The number of lines for each error in the logs of the processes. */
  readonly errors: ReadonlyMap<string, number>;
  readonly seconds: number;
}

const clientCount = 12;
/** How long a client waits for an answer. After the history, only an answer that never comes is a fault. */
const patienceMs = { history: 15_000, 'last word': 300_000, 'after the lease': 300_000 } as const;

/** Called with the number of operations that were requested so far. */
type OnAsked = (asked: number) => void;

/**
 * Runs clients and faults on a cluster, and records what happens.
 * Errors: the signal's reason, after the signal is aborted and all processes have ended.
 */
export async function runHistory(
  plan: Workload,
  kind: StateKind,
  signal?: AbortSignal,
  onAsked: OnAsked = () => {},
): Promise<History> {
  await using machine = await startCluster(plan, kind);
  const started = performance.now();
  const sinceStart = () => performance.now() - started;
  const clients: ClientEntry[] = [];

  async function ask(
    payment: PlannedPayment,
    amount: string,
    replica: number,
    phase: ClientEntry['phase'],
    leaveMs: number | null = null,
  ): Promise<string | undefined> {
    const url = await machine.address(replica);
    const input = transfer(payment.key, {
      accountId: payment.account,
      value: { amount, currency: 'EUR' },
      ...(payment.mutation === 'putTransactionRequest'
        ? { viewId: 'owner', transactionRequestType: 'SEPA' }
        : {}),
    });
    const began = performance.now();
    const told = await pay(url, input, {
      headers: { 'Auth-ID': payment.caller },
      mutation: payment.mutation,
      signal: AbortSignal.timeout(leaveMs ?? patienceMs[phase]),
    }).catch((error: unknown) => {
      // Without an answer, fetch throws a TypeError, or the signal's reason. Any other error is a fault of bankql.
      if (!(error instanceof TypeError || (error instanceof Error && error.name === 'TimeoutError')))
        machine.misdeeds.push(`an answer of another shape: ${error}`);
      return null;
    });
    clients.push({ payment, amount, began, ended: performance.now(), told, phase });
    return told?.code;
  }

  let asked = 0;
  const events = plan.events.values();
  let next = events.next().value;
  const happening: Promise<void>[] = [];
  const cause = (event: ChaosEvent) => {
    const end = machine.cause(event);
    // The promise is awaited below. Until then, its rejection must not end this process.
    end.catch(() => {});
    return end;
  };
  const history = byClients(plan.asks, async ({ payment, amount, times, replica, waitMs, leaveMs }) => {
    signal?.throwIfAborted();
    await delay(waitMs);
    asked += times;
    onAsked(asked);
    for (; next !== undefined && next.at <= asked; next = events.next().value) happening.push(cause(next));
    await Promise.all(
      Array.from({ length: times }, (_, n) => ask(payment, amount, replica + n, 'history', leaveMs)),
    );
  });
  // Nothing may be started any more when the machine is closed, whatever happens.
  await history.catch(() => {});
  await Promise.allSettled(happening);
  await Promise.all([history, ...happening]);

  // There are no more faults now. Every payment is requested once more, with its first input, from restarted processes.
  machine.heal();
  await delay(2 * deadlineMs);
  await machine.restart();
  const first = new Map(plan.asks.toReversed().map(({ payment, amount }) => [payment, amount]));
  const underWay: [PlannedPayment, string][] = [];
  await byClients([...first], async ([payment, amount], n) => {
    let code = await ask(payment, amount, n, 'last word');
    // Sends the request again, as clients do, because a store with a busy disk may not answer in time.
    for (let again = 0; code === 'STATE_UNAVAILABLE' && again < mostRetries; again++) {
      const last = clients.findLastIndex((entry) => entry.payment === payment);
      clients.push(...clients.splice(last, 1).map((entry) => ({ ...entry, phase: 'history' as const })));
      await delay(retryAfterMs);
      code = await ask(payment, amount, n, 'last word');
    }
    if (code === 'IDEMPOTENCY_IN_PROGRESS') underWay.push([payment, amount]);
  });
  await machine.pass(3_600_000);
  const records = await readRecords(machine.stateUrl);
  await byClients(underWay, ([payment, amount], n) => ask(payment, amount, n, 'after the lease'));
  await machine.stop();

  const { bank, misdeeds } = machine;
  const audit = auditLines(machine.output());
  const errors = errorLines(machine.output());
  const seconds = Math.round(sinceStart() / 1000);
  return { clients, bank, records, audit, events: machine.events, misdeeds, errors, seconds };
}

/** Runs this work with as many concurrent steps as there are clients. */
async function byClients<T>(work: readonly T[], one: (item: T, n: number) => Promise<unknown>) {
  const queue = work.entries();
  const client = async () => {
    for (const [n, item] of queue) await one(item, n);
  };
  const clients = Array.from({ length: clientCount }, client);
  await Promise.allSettled(clients);
  await Promise.all(clients);
}

/**
 * How many times a payment is repeated while the store is unavailable, and the pause between repeats, which STATE_UNAVAILABLE
 * gives.
 */
const mostRetries = 60;
const retryAfterMs = 1_000;

/** How many times the records are read again while one of them changes, and the pause between readings. */
const readings = { most: 20, everyMs: 500 };

/**
 * All records. An hour has passed for the store, so all leases have ended. A payment whose client has its answer, or gave up, may
 * still be in progress in a slow process: its record could be read in two states, or as PENDING. Therefore the records are read
 * again until none changes.
 */
async function readRecords(stateUrl: string): Promise<readonly PaymentRecord[]> {
  // This store begins no payment, so no replica has to confirm anything.
  const store = await openStore(stateUrl, {
    timeoutMs: 60_000,
    retentionMs: 30 * 86_400_000,
    allowVolatile: true,
  });
  try {
    let records = await readOnce(store);
    for (let n = 1; n < readings.most && isChanging(records); n++) {
      await delay(readings.everyMs);
      records = await readOnce(store);
    }
    return records;
  } finally {
    await store.close();
  }
}

async function readOnce(store: PaymentStore): Promise<readonly PaymentRecord[]> {
  const states: readonly PaymentState[] = ['PENDING', 'DONE', 'REJECTED', 'UNKNOWN'];
  const records: PaymentRecord[] = [];
  // One search after the other, because the first search ends the leases.
  for (const state of states) records.push(...(await store.search({ states: [state] })));
  return records;
}

const isChanging = (records: readonly PaymentRecord[]): boolean =>
  records.some(({ state }) => state === 'PENDING') ||
  new Set(records.map(({ trackId }) => trackId)).size < records.length;

const auditLine = z
  .object({
    audit: z.literal('payment'),
    state: z.string(),
    trackId: z.string(),
    createdAt: z.number(),
  })
  .transform(({ state, trackId, createdAt }) => ({
    state,
    trackId,
    begunAt: createdAt - performance.timeOrigin,
  }));

const auditLines = (output: string): AuditLine[] =>
  logLines(output, '"audit":"payment"').map((line) => auditLine.parse(line));

const errorLine = z.object({ msg: z.string(), reason: z.string().optional(), loss: z.string().optional() });

function errorLines(output: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of logLines(output, '"level":50')) {
    const { msg, reason, loss } = errorLine.parse(line);
    // Counts and ids differ between equal messages.
    const text = [msg, reason ?? loss].join(': ').replaceAll(/[0-9a-f-]{36}|\d+/g, '#');
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return counts;
}
