import { type Act, hang, later, reply, reset, write, writeThen } from '../../support/faulty-bank.ts';
import { type Arrived, accept } from '../../support/payment-bank.ts';
import { pick, type Random } from './workload.ts';

/** The bank's behaviour for a payment. */
export interface Fault {
  readonly name: string;
  /** The state of the payment for a reader of the whole answer. RELEASED: its key is free again. */
  readonly ends: 'DONE' | 'REJECTED' | 'RELEASED' | 'UNKNOWN';
  /** Whether money moved. */
  readonly executed: boolean;
  readonly act: Act;
}

const json = 'Content-Type: application/json';
const cut = `HTTP/1.1 200 OK\r\n${json}\r\nContent-Length: 50\r\n\r\n{"id":"tx`;

const weights = {
  accept: 30,
  'accept, slowly': 20,
  'accept with an empty body': 4,
  'accept with a word': 2,
  'accept for later': 2,
  'refuse the caller': 2,
  'a limit of a gateway': 2,
  'refuse with 200': 2,
  'an error with 200': 2,
  hang: 5,
  'answer too late': 5,
  'reset after reading': 4,
  'reset in the headers': 3,
  'reset in the body': 3,
  'end in the body': 3,
  'end of a body without a length': 3,
  refuse: 14,
  'an unclear 4xx': 6,
  'a 5xx': 8,
  'a redirect': 3,
  garbage: 3,
  'a list': 2,
  'a page': 2,
} as const;

const refusals = [400, 402, 403, 404, 405, 413, 415, 422, 429];
const unclear = [408, 409, 410, 425];
const failures = [500, 502, 503, 504];

/** The behaviour without faults. */
export const accepting = (payment: Arrived): Fault => ({
  name: 'accept',
  ends: 'DONE',
  executed: true,
  act: accept(payment),
});

/** The bank's behaviour for the nth request for a payment, determined by the seed. */
export function faultOf(random: Random, payment: Arrived, nth: number, deadlineMs: number): Fault {
  const { account } = payment;
  const of = (list: readonly number[]) =>
    list[Math.floor(random('status', account, nth) * list.length)] ?? 500;
  // The sender cannot know whether the bank executed the payment, so the bank executes only some of these
  // payments.
  const maybe = random('executed', account, nth) < 0.5;
  const unknown = (act: Act, executed = maybe) => ({ name, ends: 'UNKNOWN' as const, executed, act });
  const name = pick(weights, random('fault', account, nth));
  switch (name) {
    case 'accept':
      return accepting(payment);
    case 'accept, slowly': {
      const wait = 20 + 0.5 * deadlineMs * random('slowly', account, nth);
      return { name, ends: 'DONE', executed: true, act: later(wait, accept(payment)) };
    }
    case 'accept with an empty body':
      return { name, ends: 'DONE', executed: true, act: reply(200, '') };
    case 'accept with a word':
      return { name, ends: 'DONE', executed: true, act: reply(200, 'OK', { 'Content-Type': 'text/plain' }) };
    case 'accept for later':
      return unknown(reply(202, '{"id":"tx-later"}'));
    case 'refuse the caller':
      return { name, ends: 'RELEASED', executed: false, act: reply(401, '{"message":"Unauthorized"}') };
    case 'a limit of a gateway':
      return { name, ends: 'RELEASED', executed: false, act: reply(429, '{"message":"Limit Exceeded"}') };
    case 'refuse with 200':
      return { name, ends: 'REJECTED', executed: false, act: reply(200, '{"status":"declined"}') };
    case 'an error with 200':
      return unknown(reply(200, '{"error":"try later"}'));
    case 'hang':
      return unknown(hang);
    case 'answer too late':
      return unknown(later(1.5 * deadlineMs, accept(payment)), true);
    case 'reset after reading':
      return unknown(reset);
    case 'reset in the headers':
      return unknown(writeThen('reset', `HTTP/1.1 200 OK\r\n${json}\r\n`));
    case 'reset in the body':
      return unknown(writeThen('reset', cut));
    case 'end in the body':
      return unknown(writeThen('end', cut));
    case 'end of a body without a length':
      return unknown(writeThen('end', `HTTP/1.1 200 OK\r\n${json}\r\n\r\n{"id":"tx`));
    case 'refuse':
      return {
        name,
        ends: 'REJECTED',
        executed: false,
        act: reply(of(refusals), '{"message":"Insufficient funds"}'),
      };
    case 'an unclear 4xx':
      return unknown(reply(of(unclear), '{"message":"no"}', { 'Retry-After': '0' }));
    case 'a 5xx':
      return unknown(reply(of(failures), 'no'));
    case 'a redirect':
      return unknown(reply(307, '', { Location: payment.path }));
    case 'garbage':
      return unknown(reply(200, '{"id": tx'));
    case 'a list':
      return {
        name,
        ends: 'DONE',
        executed: true,
        act: reply(200, JSON.stringify([{ id: `tx-${payment.trackId}` }])),
      };
    case 'a page':
      return unknown(write('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n<br/>'));
  }
}
