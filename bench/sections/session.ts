import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readConfig } from '../../src/config/config.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { progress } from '../../test/long/progress.ts';
import type { Bench } from '../bench.ts';
import { bankql, type Contender } from '../contenders.ts';
import { reasonOf } from './interleave.ts';

/** A login that sees the fifteen screens of examples/screens, one after the other. */

const callMs = 50;
/** In the order in which a customer may see them; `receipt` pays. */
const names = [
  'overview',
  'overview-with-requests',
  'account-detail',
  'labels',
  'transaction',
  'co-owners',
  'transfer-form',
  'receipt',
  'payment-history',
  'inbox',
  'kyc-profile',
  'branch-locator',
  'nearest-branches',
  'branch-detail',
  'product-catalogue',
] as const;
const examples = join(import.meta.dirname, '../../examples');
const variables = JSON.parse(readFileSync(join(examples, 'variables.json'), 'utf8'));
const documentOf = (name: string) => readFileSync(join(examples, 'screens', `${name}.graphql`), 'utf8');

const credentials = {
  'Ocp-Apim-Subscription-Key': 'sandbox-key',
  'Auth-Provider-Name': 'sandbox',
  'Auth-ID': 'alice',
};

interface Row {
  readonly calls: number;
  readonly bytes: number;
  readonly ms: number;
}

export interface SessionResult {
  /** The totals of the whole session, for each contender; a string is the reason why there are none. */
  readonly rows: readonly { readonly title: string; readonly total: Row | string }[];
  /** bankql's. */
  readonly screens: readonly (Row & { readonly name: string })[];
  /** How many reads a session makes, and how many of them differ: no cache that starts empty makes fewer. */
  readonly reads: number;
  readonly distinctReads: number;
}

interface RecordedCall {
  readonly method: string;
  readonly path: string;
  readonly bytes: number;
}

/** The sandbox bank, behind a proxy that delays and records its calls. */
async function openBank() {
  const sandbox = await startSandbox({ port: 0 });
  const { hostname: host, port } = new URL(sandbox.url);
  const calls: RecordedCall[] = [];
  const proxy = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    await delay(callMs);
    const forwarded = send({ host, port, method, path, headers });
    forwarded.on('response', (answer) => {
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      answer.on('end', () => calls.push({ method, path, bytes }));
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(forwarded);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    takeCalls: () => calls.splice(0),
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      proxy.close();
      await sandbox.close();
    },
  };
}

/** Errors: an answer with errors. */
async function ask(port: number, body: object): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json', ...credentials },
    body: JSON.stringify(body),
  });
  const { errors } = (await response.json()) as { readonly errors?: object };
  if (errors !== undefined) throw new Error(JSON.stringify(errors));
}

/**
 * These have no schema of the screens. They are asked for the paths that bankql read, those of a screen in one query, which
 * spares them the reads that wait for others. The receipt is left out: what it reads exists only after the payment.
 */
const peers: readonly Contender[] = [
  ['mercurius', 'mercurius + JIT'],
  ['apollo', 'Apollo Server, RESTDataSource with a cache of 5 s'],
  ['hive-gateway', 'Hive Gateway, response caching of 5 s'],
].map(([name = '', title = '']) => ({
  name: `screens-${name}`,
  title,
  program: 'contenders/screens.ts',
  environment: () => ({ KIND: name }),
}));

const flatQuery = (paths: readonly string[]) => ({
  query: `{ __typename ${paths.map((path, index) => `r${index}: get(path: ${JSON.stringify(path)})`).join(' ')} }`,
});

/** Asks for each screen in turn, as one login, after a first request that opens what is opened once. */
async function walk(bench: Bench, contender: Contender, bodies: readonly object[]) {
  await using bank = await openBank();
  const { bankId, viewId } = readConfig({}).server.defaults;
  await using running = await bench.open(contender, {
    BANK_URL: bank.url,
    BANK_BASE_URL: bank.url,
    BANK_ID: bankId ?? '',
    BANK_DEFAULT_VIEW: viewId,
    VIEWER_CUSTOMER_ID: '{auth-id}',
    VIEWER_ACCOUNT_ID: '{auth-id}-current',
    PUBLIC_CACHE_TTL_MS: '60000',
  });
  const rows: (Row & { readonly paths: readonly string[] })[] = [];
  for (const [index, body] of bodies.entries()) {
    progress(`${contender.title}: ${names[index]}`);
    const began = performance.now();
    await ask(running.port, body);
    const ms = performance.now() - began;
    const calls = bank.takeCalls();
    rows.push({
      ms,
      calls: calls.length,
      bytes: calls.reduce((sum, { bytes }) => sum + bytes, 0),
      paths: calls.filter(({ method }) => method === 'GET').map(({ path }) => path),
    });
  }
  return rows;
}

const withoutReceipt = <T>(rows: readonly T[]): T[] =>
  rows.filter((_row, index) => names[index] !== 'receipt');

const totalOf = (rows: readonly Row[]): Row => ({
  calls: rows.reduce((sum, { calls }) => sum + calls, 0),
  bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
  ms: rows.reduce((sum, { ms }) => sum + ms, 0),
});

/** I: the session of each contender, over the sandbox bank with 50 ms per call. */
export async function measureSession(bench: Bench): Promise<SessionResult> {
  const bodies = names.map((name) => ({ query: documentOf(name), variables: variables[name] }));
  const screens = await walk(bench, bankql, bodies);
  const rows: { title: string; total: Row | string }[] = [
    { title: 'bankql', total: totalOf(withoutReceipt(screens)) },
  ];
  for (const contender of peers) {
    const walked = await walk(
      bench,
      contender,
      screens.map(({ paths }, index) => flatQuery(names[index] === 'receipt' ? [] : paths)),
    ).then((walked) => totalOf(withoutReceipt(walked)), reasonOf);
    rows.push({ title: contender.title, total: walked });
  }
  const reads = screens.flatMap(({ paths }) => paths);
  return {
    rows,
    distinctReads: new Set(reads).size,
    reads: reads.length,
    screens: screens.map((screen, index) => ({
      ...screen,
      name: names[index] ?? '',
    })),
  };
}
