import { createServer, type IncomingMessage } from 'node:http';
import { Pool } from 'undici';
import type { Json } from '../bank/records.ts';
import { credentialHeaders } from './bank-schema.ts';
import { answers } from './limit-answers.ts';

/**
 * The limit: an endpoint written by hand for these queries only. It reads the document of the POST, finds the function for this
 * document, makes the same calls as bankql, and writes the same JSON. It has no framework, no GraphQL, no check of the bank's
 * answers and no deadline.
 */

/** The same number of connections as bankql has for reads. */
const pool = new Pool(process.env.BANK_URL ?? '', { connections: 64, pipelining: 1, allowH2: false });

function get(path: string, headers: string[]): Promise<Json> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    pool.dispatch(
      { method: 'GET', path, headers },
      {
        onRequestStart() {},
        onResponseStart(controller, status) {
          if (status !== 200) controller.abort(new Error(`the bank answered ${status}`));
        },
        onResponseData(_controller, chunk) {
          chunks.push(chunk);
        },
        onResponseEnd() {
          const [first] = chunks;
          const body = first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks);
          try {
            resolve(JSON.parse(body.toString()));
          } catch (error) {
            reject(error);
          }
        },
        onResponseError(_controller, error) {
          reject(error);
        },
      },
    );
  });
}

/** The caller's headers in the form that undici takes. */
const callerOf = ({ headers }: IncomingMessage): string[] =>
  credentialHeaders.flatMap((name) => [name, String(headers[name])]);

async function answer(request: IncomingMessage, body: Buffer): Promise<string> {
  const { query } = JSON.parse(body.toString());
  const prepared = answers.get(query);
  if (prepared === undefined) throw new Error('nothing was written for this query');
  const caller = callerOf(request);
  return JSON.stringify({ data: await prepared((path) => get(path, caller)) });
}

createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    answer(request, Buffer.concat(chunks)).then(
      (text) => {
        response.writeHead(200, {
          'Content-Type': 'application/json; charset=utf-8',
          'Content-Length': Buffer.byteLength(text),
        });
        response.end(text);
      },
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
}).listen(Number(process.env.PORT), '127.0.0.1');
