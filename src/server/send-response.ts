import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { headerPairs } from './http-response.ts';

/** What is said of one connection is Node's to say: it knows the connection. */
const ofConnection: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding']);

/**
 * Sends an answer of Fetch by node:http, at its client's pace, to its end or to where the client leaves. `headers`, names
 * and values in turn, stand in the place of its own of the same name.
 * Errors: those of a body that fails while it is made; the connection is then broken.
 */
export async function sendResponse(
  answer: Response,
  response: ServerResponse,
  headers: readonly string[],
): Promise<void> {
  const { body: stream } = answer;
  const own = [...answer.headers].filter(([name]) => !ofConnection.has(name)).flat();
  for (const [name, value] of headerPairs([...own, ...headers])) response.setHeader(name, value);
  response.writeHead(answer.status);
  if (stream === null) response.end();
  else await pipeline(stream, response).catch(unlessLeft);
}

/** A client that leaves is no failure. */
function unlessLeft(error: unknown): void {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
  throw error;
}
