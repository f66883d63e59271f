import type { PaymentRecord } from '../../src/payments/payment-record.ts';
import type { Arrived } from './payment-bank.ts';
import type { Told } from './payment-client.ts';

/** A client's request, its time, and its answer; null if no answer arrived. */
export interface ClientEntry {
  readonly payment: { readonly account: string; readonly key: string };
  readonly amount: string;
  readonly began: number;
  readonly ended: number;
  readonly told: Told | null;
  /**
   * `history`: the phase with faults. After it, each payment is requested again without faults, and once more after its lease.
   */
  readonly phase: 'history' | 'last word' | 'after the lease';
}

/** A request that the bank received, and what the bank did with it. */
export interface BankEntry {
  readonly arrived: Arrived;
  readonly amount: string;
  /** The time at which the request left bankql; 0 if unknown. */
  readonly leftAt: number;
  readonly at: number;
  readonly name: string;
  /** The state of the payment for a reader of the whole answer. RELEASED: its key is free again. */
  readonly ends: 'DONE' | 'REJECTED' | 'RELEASED' | 'UNKNOWN';
  /** Whether money moved. */
  readonly executed: boolean;
}

/** A line of the audit log. */
export interface AuditLine {
  readonly state: string;
  readonly trackId: string;
  /** The time at which the payment began. */
  readonly begunAt: number;
}

/**
 * All observations of payments, real or simulated. All times are milliseconds of one clock. Each payment has its own account, by
 * which it is identified at the bank and in the records.
 */
export interface PaymentHistory {
  readonly clients: readonly ClientEntry[];
  readonly bank: readonly BankEntry[];
  readonly records: readonly PaymentRecord[];
  readonly audit: readonly AuditLine[];
  /** The deadline for the bank's answer, in milliseconds. A payment may be given up only after this time. */
  readonly deadlineMs: number;
}

/** All observations of one payment. */
export interface PaymentCase {
  readonly account: string;
  readonly clients: readonly ClientEntry[];
  /**
   * The requests that the bank did not refuse for their credentials. For a refused request, it has executed
   * nothing.
   */
  readonly sent: readonly BankEntry[];
  readonly refusedCallers: readonly BankEntry[];
  readonly records: readonly PaymentRecord[];
  /** The audit lines of all payments, by Track-ID. */
  readonly audit: ReadonlyMap<string, readonly AuditLine[]>;
  readonly deadlineMs: number;
}

/** A history, payment by payment. */
export function casesOf({ clients, bank, records, audit, deadlineMs }: PaymentHistory): PaymentCase[] {
  const asked = Map.groupBy(clients, ({ payment }) => payment.account);
  const arrived = Map.groupBy(bank, (entry) => entry.arrived.account);
  const kept = Map.groupBy(records, ({ accountId }) => accountId);
  const lines = Map.groupBy(audit, ({ trackId }) => trackId);
  return [...new Set([...asked.keys(), ...arrived.keys(), ...kept.keys()])].map((account) => {
    const received = arrived.get(account) ?? [];
    return {
      account,
      clients: asked.get(account) ?? [],
      sent: received.filter(({ ends }) => ends !== 'RELEASED'),
      refusedCallers: received.filter(({ ends }) => ends === 'RELEASED'),
      records: kept.get(account) ?? [],
      audit: lines,
      deadlineMs,
    };
  });
}
