import { createBankClient } from '../../src/bank/client.ts';
import type { Credentials } from '../../src/bank/credentials.ts';
import { postMakeTransaction } from '../../src/contract/transaction.ts';
import { BankqlError } from '../../src/errors.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import type { PaymentStore } from '../../src/payments/store.ts';
import type { Told } from '../support/payment-client.ts';
import type { AuditLine } from '../support/payment-history.ts';
import type { Variant } from './variants.ts';
import type { SimulatedProcess, World } from './world.ts';

export const bankAddress = 'bank:80';
/** The deadline of a payment. */
export const deadlineMs = 2000;
/** As commands/serve.ts has it. */
export const leaseMs = deadlineMs + 10_000;

/** What somebody wants paid. */
export interface Order {
  readonly account: string;
  readonly key: string;
  readonly amount: string;
}

/** bankql's payments in a process of their own. */
export interface Replica {
  /** What the order is answered with; never, where the process dies. */
  pay(order: Order): Promise<Told>;
  /** As at a SIGTERM: resolves when the process may exit. */
  stop(): Promise<void>;
}

export interface ReplicaOptions {
  readonly world: World;
  readonly process: SimulatedProcess;
  readonly openStore: () => Promise<PaymentStore>;
  readonly variant: Variant;
  readonly audit: AuditLine[];
}

const credentials: Credentials = {
  subscriptionKey: 'subscription',
  authProviderName: 'provider',
  authId: 'caller',
};

/** Starts one, as the process. Errors: those of opening the store. */
export async function startReplica(options: ReplicaOptions): Promise<Replica> {
  const { world, process, openStore, audit } = options;
  const { partsOf = (parts) => parts } = options.variant;
  const store = await openStore();
  const client = createBankClient({
    baseUrl: `http://${bankAddress}`,
    timeoutMs: deadlineMs,
    paymentTimeoutMs: deadlineMs,
    // None: undici counts them with one timer for all that this thread simulates, the dead and the worlds before included.
    connectTimeoutMs: 0,
    connections: 2,
    waitMs: 250,
    maxBodyBytes: 1024 * 1024,
    retryShare: 0,
    // Every fault is to reach the bank: no breaker pauses payments in between.
    breakerThreshold: 0,
    publicCacheTtlMs: 0,
    publicCacheBytes: 0,
  });
  /** When the wall clock has shown a time: it jumps. */
  const shownAt = new Map<number, number>();
  const payments = createPaymentService({
    ...partsOf({ bank: client, store, leaseMs, sendTimeoutMs: deadlineMs }),
    replica: process.name,
    now() {
      const shown = Date.now();
      shownAt.set(shown, world.now);
      return shown;
    },
    audit({ state, trackId, createdAt }) {
      if (!world.takesEffect(process, `the audit line ${state}`)) return;
      if (state === 'PENDING' && world.choices.departs('log', 0.03, `${process.name} cannot log`) !== null)
        throw new Error('the disk is full');
      world.note(`${process.name} logs ${state} of ${trackId}`);
      audit.push({ state, trackId, begunAt: shownAt.get(createdAt) ?? Number.NaN });
    },
  });

  return {
    pay: ({ account, key, amount }) =>
      payments
        .pay(postMakeTransaction, {
          idempotencyKey: key,
          input: {
            ids: { bankId: 'BANK', accountId: account },
            body: {
              from: { bank_id: 'BANK', account_id: account },
              to: { bank_id: 'TO-BANK', account_id: 'to' },
              value: { amount, currency: 'EUR' },
            },
            credentials,
          },
        })
        .then(
          ({ trackId, replayed, answer }) => ({
            ...nothing,
            code: 'DONE',
            trackId,
            replayed,
            transactionId: idOf(answer),
          }),
          toldOf,
        ),
    async stop() {
      await payments.idle();
      await store.close();
      await client.close();
    },
  };
}

const nothing: Omit<Told, 'code'> = {
  trackId: null,
  replayed: false,
  transactionId: null,
  idempotencyKey: null,
  status: null,
  message: null,
  retryAfter: null,
};

/** Errors: whatever is no error of bankql's. */
function toldOf(error: unknown): Told {
  if (!(error instanceof BankqlError)) throw error;
  const { code, trackId = null, idempotencyKey = null, status = null, retryAfter = null } = error.extensions;
  return { ...nothing, code, message: error.message, trackId, idempotencyKey, status, retryAfter };
}

const idOf = (receipt: unknown): string | null => {
  const id: unknown = Reflect.get(Object(receipt), 'id');
  return typeof id === 'string' ? id : null;
};
