import { connect, type Socket } from 'node:net';

/** The credentials that tests send unless told otherwise. */
export const credentials = {
  'Ocp-Apim-Subscription-Key': 'the-subscription-key',
  'Auth-Provider-Name': 'the-provider',
  'Auth-ID': 'the-caller',
} as const;

type Headers = Readonly<Record<string, string>>;

/** A POST for `fetch` or a Request: an object is sent as JSON, a text as it is. */
export const postOf = (body: object | string, headers: Headers = credentials) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json', ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

/** A client's connection. If it fails, that is for the test to see. */
export const connectTo = (url: string): Socket =>
  connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});

/** The text of a POST to /graphql: its head, and as much of its body as is sent. */
export const postText = (body: string, headers: Headers = credentials, sent = body): string =>
  [
    'POST /graphql HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    `\r\n${sent}`,
  ].join('\r\n');

/** What is answered to a text until the connection is closed, which the server has to do. */
export async function answerTo(url: string, text: string): Promise<string> {
  const socket = connectTo(url).setEncoding('utf8');
  socket.write(text);
  let answered = '';
  socket.on('data', (piece) => {
    answered += piece;
  });
  await new Promise((resolve) => socket.once('close', resolve));
  return answered;
}
