import { type AddressInfo, createServer } from 'node:net';

/** An upstream without an HTTP parser of its own: it keeps each request's bytes and answers them all the same. */
export interface RawRecorder extends AsyncDisposable {
  readonly url: string;
  /** What was sent, one text for each request (bytes as Latin-1 characters). */
  readonly requests: string[];
  /** The first lines of the requests. */
  readonly lines: () => string[];
}

export async function startRawRecorder(answer: string): Promise<RawRecorder> {
  const requests: string[] = [];
  const server = createServer((socket) => {
    let received = '';
    socket.setEncoding('latin1');
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: string) => {
      received += chunk;
      const head = received.indexOf('\r\n\r\n');
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(received)?.[1] ?? 0);
      if (head === -1 || received.length < head + 4 + length) return;
      requests.push(received);
      received = '';
      socket.write(
        `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(answer)}\r\n\r\n${answer}`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    lines: () => requests.map((request) => request.slice(0, request.indexOf('\r\n'))),
    [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}
