import type { PaymentState } from '../../src/payments/payment-record.ts';
import type { HeldPayment } from '../../src/payments/protocol.ts';

/**
 * The state of a key in a store.
 * - `FREE`: no record.
 * - `PENDING`: stored before the request leaves; it may have been sent.
 * - `LEASE_OVER`: reported as UNKNOWN, because the attempt has not recorded its end in time. The attempt may still record it.
 * - `UNKNOWN`, `DONE`, `REJECTED`: how the attempt ended.
 */
export type KeyState = 'FREE' | 'LEASE_OVER' | PaymentState;

export function keyState(held: HeldPayment | null): KeyState {
  if (held === null) return 'FREE';
  const { state } = held.record;
  return state === 'UNKNOWN' && held.awaited ? 'LEASE_OVER' : state;
}
