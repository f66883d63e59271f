import type { Socket } from 'node:net';
import { getOrMake } from '../../src/get-or-make.ts';
import { type Act, type FaultyBank, reply, startFaultyBank } from './faulty-bank.ts';
import { requested } from './requested.ts';

/** A request that arrived completely. */
export interface Arrived {
  readonly method: string;
  readonly path: string;
  /** The account in the path. Tests give each payment its own account. */
  readonly account: string;
  readonly trackId: string;
  readonly body: string;
  /** The number of the connection, counted from 1 among those that were used, and the number of the request on it. */
  readonly connection: number;
  readonly nth: number;
}

/** A bank that counts requests and connections, and answers each payment as the test decides. */
export interface PaymentBank
  extends Pick<FaultyBank, 'url' | 'connections' | 'close' | 'listen'>,
    AsyncDisposable {
  /** Every payment that arrived, in the order of arrival. */
  readonly payments: Arrived[];
  /** The payments of one account. */
  of(account: string): Arrived[];
  /** The behaviour for a payment; by default `accept`. */
  decide: (payment: Arrived) => Act;
  /** Whether the bank resets a connection before it reads anything; by default never. */
  drops: (connection: number) => boolean;
}

/** Accepts a payment, with an answer that names its request. */
export const accept = ({ method, trackId, body }: Arrived): Act =>
  method === 'PUT'
    ? reply(200, JSON.stringify(requested({ body })))
    : reply(201, JSON.stringify({ id: `tx-${trackId}`, status: 'COMPLETED' }));

/** The bank answers payments only after `answer` is called. `arrived` resolves when a payment has arrived. */
export function hold(bank: PaymentBank) {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  bank.decide = (payment) => (socket) => {
    arrived.resolve();
    void released.promise.then(() => accept(payment)(socket));
  };
  return { arrived: arrived.promise, answer: released.resolve };
}

export async function startPaymentBank(): Promise<PaymentBank> {
  const payments: Arrived[] = [];
  const used = new Map<Socket, { readonly connection: number; nth: number }>();
  const http = await startFaultyBank(
    (socket) => {
      const text = http.requests.pop() ?? '';
      const use = getOrMake(used, socket, () => ({ connection: used.size + 1, nth: 0 }));
      use.nth += 1;
      const [method = '', path = ''] = text.split(' ', 2);
      // Reads, such as of branches, succeed whatever happens to payments.
      if (method === 'GET') return reply(200, '{"branches":[]}')(socket);
      const arrived = {
        method,
        path,
        account: /\/accounts\/([^/]+)/.exec(path)?.[1] ?? '',
        trackId: /\r\ntrack-id: *(\S+)/i.exec(text)?.[1] ?? '',
        body: Buffer.from(text.slice(text.indexOf('\r\n\r\n') + 4), 'latin1').toString('utf8'),
        ...use,
      };
      payments.push(arrived);
      bank.decide(arrived)(socket);
    },
    (connection) => bank.drops(connection),
  );
  const bank: PaymentBank = {
    ...http,
    payments,
    of: (account) => payments.filter((payment) => payment.account === account),
    decide: accept,
    drops: () => false,
  };
  return bank;
}
