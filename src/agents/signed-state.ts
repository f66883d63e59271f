import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/**
 * The state of a question, which the client keeps for bankql. It is signed, so that nobody else can create or change it. It is
 * not encrypted, and contains nothing that the client may not read.
 */
export interface AskedState {
  /**
   * The idempotency key of the payment. It is a part of the state and not derived from it, because the same state can be encoded
   * in several ways.
   */
  readonly key: string;
  /** Identifies the tool's document, the caller and the payment. */
  readonly payment: string;
  /** Identifies the text of the question. */
  readonly question: string;
  /** The time until which the person can agree, in milliseconds since 1970. */
  readonly until: number;
}

const stateFormat = z.strictObject({
  key: z.string(),
  payment: z.string(),
  question: z.string(),
  until: z.number(),
});

/** Derives a separate key, so that texts that are signed for another purpose are not valid states, nor the other way round. */
const keyOf = (secret: string) =>
  createHmac('sha256', Buffer.from(secret, 'hex'))
    .update('bankql: state of a question to an agent, 1')
    .digest();

const signatureOf = (secret: string, body: string): Buffer =>
  createHmac('sha256', keyOf(secret)).update(body).digest();

/** Signs a state. `secret`: the payment store's secret, which replicas share. */
export function signState(secret: string, state: AskedState): string {
  const body = Buffer.from(JSON.stringify(state)).toString('base64url');
  return `${body}.${signatureOf(secret, body).toString('base64url')}`;
}

/** Reads a state; null if it is not bankql's, or has expired. */
export function readState(secret: string, text: string | undefined, now: number): AskedState | null {
  const [body = '', signature = '', ...others] = text?.split('.', 3) ?? [];
  const given = Buffer.from(signature, 'base64url');
  const wanted = signatureOf(secret, body);
  if (others.length > 0 || given.length !== wanted.length || !timingSafeEqual(given, wanted)) return null;
  const { data } = stateFormat.safeParse(JSON.parse(Buffer.from(body, 'base64url').toString()));
  return data !== undefined && now < data.until ? data : null;
}
