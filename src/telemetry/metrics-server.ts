import { createServer } from 'node:http';
import type { Registry } from 'prom-client';
import { listenOn } from '../http/listen.ts';

const path = '/metrics';
/** The longest time for which a stop waits for a client that does not read its answer, in milliseconds. */
const maxCloseMs = 1000;

/** Serves the metrics at its `url`, and nothing else. Errors: those of `listen`, such as EADDRINUSE. */
export async function serveMetrics(
  registry: Pick<Registry, 'metrics' | 'contentType'>,
  { host, port }: { readonly host: string; readonly port: number },
) {
  const server = createServer(({ method, url = '' }, response) => {
    const answer = (status: number, text: string, headers: Readonly<Record<string, string>> = {}) =>
      response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...headers }).end(text);
    if (url.split('?', 1)[0] !== path) answer(404, 'The metrics are at /metrics.\n');
    else if (method !== 'GET' && method !== 'HEAD')
      answer(405, 'Ask for the metrics by GET.\n', { Allow: 'GET, HEAD' });
    else
      registry.metrics().then(
        (text) => answer(200, text, { 'Content-Type': registry.contentType }),
        () => answer(500, 'The metrics cannot be read.\n'),
      );
  });
  const url = await listenOn(server, host, port);
  return {
    url: url + path,
    /** Lets answers in progress end. */
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        setTimeout(() => server.closeAllConnections(), maxCloseMs).unref();
      }),
  };
}
