import { connect, type Socket } from 'node:net';

/** The default credentials of tests. */
export const credentials = {
  'Ocp-Apim-Subscription-Key': 'the-subscription-key',
  'Auth-Provider-Name': 'the-provider',
  'Auth-ID': 'the-caller',
} as const;

type Headers = Readonly<Record<string, string>>;

/** A POST for `fetch` or a Request. An object is sent as JSON, a text unchanged. */
export const postOf = (body: object | string, headers: Headers = credentials) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json', ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

/** A client's connection. Its errors are ignored here. */
export const connectTo = (url: string): Socket =>
  connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});

/** A POST to /graphql as text: its head, and as much of its body as is sent. */
export const postText = (body: string, headers: Headers = credentials, sent = body): string =>
  [
    'POST /graphql HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    `\r\n${sent}`,
  ].join('\r\n');

/** The answer to a text, read until the server closes the connection. */
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
