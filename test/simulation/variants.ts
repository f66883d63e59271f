import type { BankClient } from '../../src/bank/client.ts';
import { TransportFailure } from '../../src/bank/http-message.ts';
import type { StoreDriver } from '../../src/payments/driver.ts';
import { type HeldPayment, keyState } from '../../src/payments/protocol.ts';
import type { PaymentServiceOptions } from '../../src/payments/service.ts';
import { type PaymentRecord, type PaymentStore, StoreUnavailable } from '../../src/payments/store.ts';
import { deadlineMs } from './replica.ts';

/** What a payment service is made of. */
export type Parts = Pick<PaymentServiceOptions, 'store' | 'bank' | 'sendTimeoutMs'> & {
  readonly leaseMs: number;
};

/** bankql as it is, or broken: other parts are put into a replica, or another database behind its store. */
export interface Variant {
  readonly name: string;
  readonly partsOf?: (parts: Parts) => Parts;
  readonly driverOf?: (driver: StoreDriver) => StoreDriver;
  /** Whether the store is bankql's own client of PostgreSQL, over the simulated network, instead of messages to a database. */
  readonly isOverPostgres?: boolean;
}

export const sound: Variant = { name: 'bankql as it is' };

const overPostgres = (variant: Variant): Variant => ({
  ...variant,
  name: `${variant.name}, over PostgreSQL's client`,
  isOverPostgres: true,
});
export const soundOverPostgres = overPostgres(sound);

/** A store of which some methods are others. Its getters stay what they are: `loss` changes. */
const withMethods = (store: PaymentStore, methods: Partial<PaymentStore>): PaymentStore =>
  Object.assign(Object.create(store), methods);

type Methods<T> = (whole: T) => Partial<T>;

const driverWith =
  (methods: Methods<StoreDriver>): Variant['driverOf'] =>
  (driver) => ({ ...driver, ...methods(driver) });

const storeWith =
  (methods: Methods<PaymentStore>): Variant['partsOf'] =>
  (parts) => ({ ...parts, store: withMethods(parts.store, methods(parts.store)) });

const bankWith =
  (methods: Methods<BankClient>): Variant['partsOf'] =>
  (parts) => ({ ...parts, bank: { ...parts.bank, ...methods(parts.bank) } });

/** Each breaks one rule of the protocol; the simulation has to find out. */
export const brokenVariants: readonly Variant[] = [
  {
    name: 'no lease check',
    // The service believes in a lease without an end, the store in the right one.
    partsOf: ({ bank, store, leaseMs }) => ({
      bank,
      leaseMs: 2 ** 40,
      store: withMethods(store, {
        begin: (record, now) => store.begin({ ...record, leaseUntil: record.createdAt + leaseMs }, now),
      }),
    }),
  },
  {
    name: 'lease shorter than the call',
    partsOf: (parts) => ({ ...parts, leaseMs: deadlineMs / 4, sendTimeoutMs: 0 }),
  },
  {
    name: 'record after send',
    partsOf: recordAfterSend,
  },
  {
    name: 'sent without a confirmed record',
    partsOf: storeWith((store) => ({
      begin: (record, now) =>
        store.begin(record, now).catch((error: unknown) => {
          if (error instanceof StoreUnavailable) return null;
          throw error;
        }),
    })),
  },
  {
    name: 'release after an unknown outcome',
    partsOf: storeWith((store) => ({
      end: (attempt) =>
        store.end(attempt.outcome?.state === 'UNKNOWN' ? { ...attempt, outcome: null } : attempt),
    })),
  },
  {
    name: 'unknown outcome recorded as a refusal',
    partsOf: storeWith((store) => ({
      end: ({ outcome, ...attempt }) =>
        store.end({
          ...attempt,
          outcome: outcome?.state === 'UNKNOWN' ? { ...outcome, state: 'REJECTED' } : outcome,
        }),
    })),
  },
  {
    name: 'replay not checked',
    partsOf: storeWith((store) => ({
      async begin(record, now) {
        const found = await store.begin(record, now);
        return found?.state === 'DONE' || found?.state === 'REJECTED' ? null : found;
      },
    })),
  },
  {
    name: 'request not compared with the record',
    partsOf: storeWith((store) => ({
      async begin(record, now) {
        const found = await store.begin(record, now);
        return found === null ? null : { ...found, fingerprint: record.fingerprint };
      },
    })),
  },
  {
    name: 'the end of a lease frees the key',
    driverOf: driverWith((driver) => ({
      compareAndSet: (id, version, row) =>
        driver.compareAndSet(id, version, row !== null && isLeaseOver(row.held) ? null : row),
    })),
  },
  {
    name: 'finish and release by anyone, Track-ID not compared',
    partsOf: storeWith((store) => {
      const own = async (id: string, now: number) => (await store.find(id, now))?.trackId ?? '';
      return {
        // A beginning that fails takes back whatever is stored.
        begin: (record, now) =>
          store.begin(record, now).catch(async (error: unknown) => {
            const trackId = await own(record.id, now).catch(() => '');
            await store.end({ id: record.id, trackId, outcome: null, at: now }).catch(() => {});
            throw error;
          }),
        end: async (attempt) => store.end({ ...attempt, trackId: await own(attempt.id, attempt.at) }),
      };
    }),
  },
  {
    name: 'a change does not compare the version that it has read',
    driverOf: driverWith((driver) => ({
      compareAndSet: async (id, version, row) =>
        driver.compareAndSet(id, (await driver.find(id))?.version ?? version, row),
    })),
  },
  {
    name: 'late proof that nothing was sent frees a key that was told as unknown',
    driverOf: driverWith((driver) => ({
      compareAndSet: (id, version, row) =>
        driver.compareAndSet(id, version, row !== null && isExecutedNothing(row.held) ? null : row),
    })),
  },
  {
    name: 'a beginning is taken back before it is known that it is not stored later',
    driverOf: driverWith(() => ({ settleWrites: async () => {} })),
  },
  {
    name: 'broken request counts as not sent',
    partsOf: bankWith((bank) => ({
      send: (call) =>
        bank.send(call).catch((error: unknown) => {
          if (!(error instanceof TransportFailure)) throw error;
          throw new TransportFailure(error.reason, false, error.message, error);
        }),
    })),
  },
  {
    name: 'broken request sent once more',
    partsOf: bankWith((bank) => ({ send: (call) => bank.send(call).catch(() => bank.send(call)) })),
  },
];

/** Those that concern what a store confirms. */
export const brokenOverPostgres: readonly Variant[] = brokenVariants
  .filter(({ driverOf, name }) => driverOf !== undefined || name === 'sent without a confirmed record')
  .map(overPostgres);

const isLeaseOver = (held: HeldPayment): boolean => keyState(held) === 'LEASE_OVER';

const isExecutedNothing = ({ record: { state, message } }: HeldPayment): boolean =>
  state === 'REJECTED' && String(message).includes('was not executed, and is never sent');

function recordAfterSend({ store, bank, leaseMs }: Parts): Parts {
  const begun = new Map<string | null, PaymentRecord>();
  return {
    leaseMs,
    store: withMethods(store, {
      async begin(record, now) {
        const found = await store.find(record.id, now);
        if (found === null) begun.set(record.trackId, record);
        return found;
      },
    }),
    bank: {
      ...bank,
      async send(call) {
        const response = await bank.send(call);
        const record = begun.get(call.trackId);
        if (record !== undefined) await store.begin(record, Date.now());
        return response;
      },
    },
  };
}

/** Errors: an Error that names all, where there is no such variant. */
export function variantOf(name: string): Variant {
  const all = [sound, ...brokenVariants, soundOverPostgres, ...brokenOverPostgres];
  const found = all.find((variant) => variant.name === name);
  if (found === undefined)
    throw new Error(`There is no variant "${name}": ${all.map((one) => one.name).join('; ')}.`);
  return found;
}
