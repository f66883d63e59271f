import { z } from 'zod';
import { type RedisAddress, type SentinelAddress, shownHost } from './address.ts';
import {
  type ConnectionOptions,
  openConnection,
  pulseMs,
  type RedisConnection,
  ServerRefused,
} from './connection.ts';

type Host = SentinelAddress['sentinels'][number];

/**
 * Asks all Sentinels in parallel where the primary is, and takes the majority of their answers: one that was
 * partitioned from the others, or has just started, may still name an old primary.
 *
 * The library's own Sentinel client is not used: it waits for a failover and then sends again what was under way, up to
 * 16 times, so that a command is executed long after its caller was told that it failed. Here Sentinels only provide an
 * address; the server there is connected to and checked like any other.
 * Errors: ServerRefused where a Sentinel does not know the primary, or is none; an Error where none answers, or they do not agree.
 */
export async function findPrimary(
  address: SentinelAddress,
  limits: ConnectionOptions,
): Promise<RedisAddress> {
  const { sentinels, primaryName, ...primary } = address;
  const asked = sentinels.map((sentinel) => askSentinel(sentinel, address, limits));
  return { ...primary, ...(await majorityOf(asked)) };
}

/**
 * Disconnects from a server when the Sentinels agree on another primary. Otherwise a demoted server that still answers,
 * because it was only partitioned from the Sentinels, would get payments that no other process sees.
 */
export function watchPrimary(
  address: SentinelAddress,
  limits: ConnectionOptions,
  primary: RedisAddress,
  connection: RedisConnection,
): void {
  async function check(): Promise<void> {
    const named = await findPrimary(address, limits);
    if (shownHost(named) !== shownHost(primary))
      connection.drop(`the Sentinels name another primary, ${shownHost(named)}`);
  }
  // If the Sentinels do not answer or do not agree, a server that answers is kept.
  const timer = setInterval(() => void check().catch(() => {}), pulseMs(limits.timeoutMs)).unref();
  connection.lost.then(() => clearInterval(timer));
}

/** The majority of the answers; once a majority of all Sentinels agree, the others are not waited for. */
function majorityOf(answers: readonly Promise<Host>[]): Promise<Host> {
  const { promise, resolve, reject } = Promise.withResolvers<Host>();
  const hosts: Host[] = [];
  const reasons: unknown[] = [];
  const votesFor = (host: Host) => hosts.filter((other) => shownHost(other) === shownHost(host)).length;

  const counted = answers.map((answer) =>
    answer.then(
      (host) => {
        hosts.push(host);
        if (votesFor(host) > answers.length / 2) resolve(host);
      },
      (reason: unknown) => void reasons.push(reason),
    ),
  );
  Promise.all(counted).then(() => {
    const named = hosts.find((host) => votesFor(host) > hosts.length / 2);
    if (named !== undefined) return resolve(named);
    const different = `the Sentinels name different primaries: ${hosts.map(shownHost).join(', ')}`;
    if (hosts.length > 0) return reject(new Error(different));
    reject(reasons.find((reason) => reason instanceof ServerRefused) ?? reasons[0]);
  });
  return promise;
}

async function askSentinel(
  sentinel: Host,
  address: SentinelAddress,
  limits: ConnectionOptions,
): Promise<Host> {
  const shown = `the Sentinel ${shownHost(sentinel)}`;
  // Sentinels often require no password, and refuse one; if they require one, it is the primary's.
  const answer = await ask(sentinel, address, limits, false)
    .catch((error: unknown) => {
      if (!(error instanceof Error) || !/\bNOAUTH\b/.test(error.message)) throw error;
      return ask(sentinel, address, limits, true);
    })
    .catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      if (/unknown command/.test(reason)) {
        throw new ServerRefused(`${shown} is none: STATE_URL names a Redis itself with redis://`);
      }
      throw new Error(`${shown} does not answer: ${reason}`);
    });
  const [host, port] = z.tuple([z.string(), z.coerce.number()]).nullable().parse(answer) ?? [];
  if (host === undefined || port === undefined) {
    throw new ServerRefused(`${shown} knows no primary of the name ${address.primaryName}`);
  }
  return { host, port };
}

async function ask(
  sentinel: Host,
  address: SentinelAddress,
  limits: ConnectionOptions,
  authenticate: boolean,
) {
  const { tls, username, password } = address;
  const credentials = authenticate ? { username, password } : { username: undefined, password: undefined };
  const connection: RedisConnection = await openConnection({ ...sentinel, tls, ...credentials }, limits);
  const timer = setTimeout(() => connection.drop(`no answer in ${limits.timeoutMs} ms`), limits.timeoutMs);
  try {
    return await connection.send(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', address.primaryName]);
  } finally {
    clearTimeout(timer);
    connection.drop('it has answered');
  }
}
