import type { PaymentRecord } from '../../src/payments/record.ts';
import type { Arrived } from './payment-bank.ts';
import type { Told } from './payment-client.ts';

/** What a client asked for, when, and what it was told; null: no answer. */
export interface ClientEntry {
  readonly payment: { readonly account: string; readonly key: string };
  readonly amount: string;
  readonly began: number;
  readonly ended: number;
  readonly told: Told | null;
  /** `history`: while all may go wrong; then all is well, and each payment is asked for again, and again after its lease. */
  readonly phase: 'history' | 'last word' | 'after the lease';
}

/** What the bank received, and what it did with it. */
export interface BankEntry {
  readonly arrived: Arrived;
  readonly amount: string;
  /** When it left bankql; 0 where nobody saw that. */
  readonly leftAt: number;
  readonly at: number;
  readonly name: string;
  /** How the payment ends for whoever reads the whole answer; RELEASED: its key is free again. */
  readonly ends: 'DONE' | 'REJECTED' | 'RELEASED' | 'UNKNOWN';
  /** Whether money moved. */
  readonly executed: boolean;
}

/** A line of the audit log. */
export interface AuditLine {
  readonly state: string;
  readonly trackId: string;
  /** When the payment began. */
  readonly begunAt: number;
}

/**
 * All that was seen of payments, real ones or simulated ones. All times are milliseconds of one clock. Each payment has an
 * account of its own, by which the bank and the records are told apart.
 */
export interface PaymentHistory {
  readonly clients: readonly ClientEntry[];
  readonly bank: readonly BankEntry[];
  readonly records: readonly PaymentRecord[];
  readonly audit: readonly AuditLine[];
  /** How long the bank has for an answer, after which alone a payment may be given up. */
  readonly deadlineMs: number;
}

/** All that is known of one payment. */
export interface PaymentCase {
  readonly account: string;
  readonly clients: readonly ClientEntry[];
  /** Of the bank, those that it did not refuse for their credentials; it executed nothing of the others. */
  readonly sent: readonly BankEntry[];
  readonly refusedCallers: readonly BankEntry[];
  readonly records: readonly PaymentRecord[];
  /** Of all payments, by their Track-ID. */
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
