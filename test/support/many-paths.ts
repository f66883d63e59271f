import { createServer } from 'node:net';
import type { BankClient } from '../../src/bank/client.ts';
import { getCustomer } from '../../src/contract/customer.ts';
import { getProduct } from '../../src/contract/product.ts';
import { BankqlError } from '../../src/errors.ts';
import { listenOnLoopback } from './loopback.ts';
import { readFrom } from './read-from.ts';

/** A bank that answers at once, remembers nothing, and makes little garbage: its memory must not be what is measured. */
export interface ForgetfulBank extends AsyncDisposable {
  readonly url: string;
  /** How many calls arrived. */
  readonly arrived: () => number;
}

const answerOf = (target: string) => {
  const id = target.slice(target.lastIndexOf('/') + 1);
  const [status, body] = id.startsWith('gone')
    ? ['404 Not Found', '{"message":"gone"}']
    : ['200 OK', `{"id":"${id}","bank_id":null}`];
  return `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};

export async function startForgetfulBank(): Promise<ForgetfulBank> {
  let arrived = 0;
  const server = createServer((socket) => {
    let pending = '';
    socket.setEncoding('latin1');
    socket.on('error', () => socket.destroy());
    socket.on('data', (text: string) => {
      pending += text;
      for (let end = pending.indexOf('\r\n\r\n'); end !== -1; end = pending.indexOf('\r\n\r\n')) {
        const [, target = ''] = pending.split(' ', 2);
        pending = pending.slice(end + 4);
        arrived++;
        socket.write(answerOf(target));
      }
    });
  });
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}`,
    arrived: () => arrived,
    [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

const isGone = (number: number) => number % 16 === 0;

/**
 * Reads `count` paths that nobody read before, `from` on, each as another caller: public records mostly, private ones,
 * and some that are not there. Errors: where one is answered otherwise than the bank answered.
 */
export async function readNewPaths(client: BankClient, from: number, count: number): Promise<void> {
  const readers = 32;
  const end = from + count;
  let next = from;
  const read = async () => {
    while (next < end) {
      const number = next++;
      const credentials = { subscriptionKey: 'key', authProviderName: 'p', authId: `caller-${number}` };
      const id = `${isGone(number) ? 'gone' : 'kept'}-${number}`;
      const answered = await (number % 4 === 1
        ? readFrom(client, getCustomer, { ids: { bankId: 'BANK', customerId: id }, credentials })
        : readFrom(client, getProduct, { ids: { bankId: 'BANK', productId: id }, credentials })
      ).then(({ answer }) => Reflect.get(Object(answer), 'id'), codeOf);
      if (answered !== (isGone(number) ? 'NOT_FOUND' : id)) throw new Error(`${id} is answered ${answered}`);
    }
  };
  await Promise.all(Array.from({ length: readers }, read));
}

const codeOf = (error: unknown) => (error instanceof BankqlError ? error.extensions.code : error);
