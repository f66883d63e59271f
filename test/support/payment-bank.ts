import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type Act, reply } from './faulty-bank.ts';

/** A request that arrived whole. */
export interface Arrived {
  readonly method: string;
  readonly path: string;
  /** The account of the path: tests give each payment one of its own. */
  readonly account: string;
  readonly trackId: string;
  readonly body: string;
  /** Which connection it came over, counted from 1, and which of its requests it was. */
  readonly connection: number;
  readonly nth: number;
}

/** A bank that counts what arrives, request by request and socket by socket, and answers each payment as it is told. */
export interface PaymentBank extends AsyncDisposable {
  readonly url: string;
  /** Every payment that arrived, in the order of arrival. */
  readonly payments: Arrived[];
  /** Those of one account. */
  of(account: string): Arrived[];
  /** How many connections were made so far. */
  readonly connections: () => number;
  /** What it does with a payment; `accept` until told otherwise. */
  decide: (payment: Arrived) => Act;
  /** Whether it resets a connection before it reads anything; never until told otherwise. */
  drops: (connection: number) => boolean;
  /** Refuses connections; `listen` takes them again, at the same port. */
  close(): Promise<void>;
  listen(): Promise<void>;
}

/** Accepts a payment, with an answer that names its request. */
export const accept = ({ method, trackId }: Arrived): Act =>
  method === 'PUT'
    ? reply(200, JSON.stringify({ 'transaction-requests': [] }))
    : reply(201, JSON.stringify({ id: `tx-${trackId}`, status: 'COMPLETED' }));

/** Does it later. */
export const later =
  (milliseconds: number, act: Act): Act =>
  (socket) => {
    setTimeout(() => act(socket), milliseconds);
  };

export async function startPaymentBank(): Promise<PaymentBank> {
  const payments: Arrived[] = [];
  const open = new Set<Socket>();
  let connections = 0;
  let port = 0;

  const server = createServer((socket) => {
    const connection = ++connections;
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
    if (bank.drops(connection)) return void socket.resetAndDestroy();
    let received = Buffer.alloc(0);
    let nth = 0;
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const text = received.toString('latin1');
      const head = text.indexOf('\r\n\r\n');
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
      if (head === -1 || received.length < head + 4 + length) return;
      const body = received.subarray(head + 4).toString('utf8');
      received = Buffer.alloc(0);
      const [method = '', path = ''] = text.split(' ', 2);
      nth += 1;
      // Branches, for instance: reads go on whatever becomes of payments.
      if (method === 'GET') return reply(200, '{"branches":[]}')(socket);
      const arrived = {
        method,
        path,
        account: /\/accounts\/([^/]+)/.exec(path)?.[1] ?? '',
        trackId: /\r\ntrack-id: *(\S+)/i.exec(text)?.[1] ?? '',
        body,
        connection,
        nth,
      };
      payments.push(arrived);
      bank.decide(arrived)(socket);
    });
  });

  const bank: PaymentBank = {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    payments,
    of: (account) => payments.filter((payment) => payment.account === account),
    connections: () => connections,
    decide: accept,
    drops: () => false,
    async close() {
      for (const socket of open) socket.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
    async listen() {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      ({ port } = server.address() as AddressInfo);
    },
    [Symbol.asyncDispose]: () => bank.close(),
  };
  await bank.listen();
  return bank;
}
