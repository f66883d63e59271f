import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/**
 * What bankql remembers of a question, and the client keeps for it: signed, so that nobody else can make or change it. It is not
 * encrypted, and holds nothing that its client may not read.
 */
export interface AskedState {
  /** The idempotency key of the payment. In the state, and not derived from it: one state can be written in several ways. */
  readonly key: string;
  /** Identifies the tool's document, the caller and the payment. */
  readonly payment: string;
  /** Identifies the text of the question. */
  readonly question: string;
  /** Until when it can be agreed to, in milliseconds since 1970. */
  readonly until: number;
}

const stateFormat = z.strictObject({
  key: z.string(),
  payment: z.string(),
  question: z.string(),
  until: z.number(),
});

/** A key of its own: nothing that is signed for another purpose is a state, and no state is anything else. */
const keyOf = (secret: string) =>
  createHmac('sha256', Buffer.from(secret, 'hex'))
    .update('bankql: state of a question to an agent, 1')
    .digest();

const signatureOf = (secret: string, body: string): Buffer =>
  createHmac('sha256', keyOf(secret)).update(body).digest();

/** `secret`: the payment store's, which replicas share. */
export function signState(secret: string, state: AskedState): string {
  const body = Buffer.from(JSON.stringify(state)).toString('base64url');
  return `${body}.${signatureOf(secret, body).toString('base64url')}`;
}

/** The state; null if it is not bankql's, or can no longer be agreed to. */
export function readState(secret: string, text: string | undefined, now: number): AskedState | null {
  const [body = '', signature = '', ...others] = text?.split('.', 3) ?? [];
  const given = Buffer.from(signature, 'base64url');
  const wanted = signatureOf(secret, body);
  if (others.length > 0 || given.length !== wanted.length || !timingSafeEqual(given, wanted)) return null;
  const { data } = stateFormat.safeParse(JSON.parse(Buffer.from(body, 'base64url').toString()));
  return data !== undefined && now < data.until ? data : null;
}
