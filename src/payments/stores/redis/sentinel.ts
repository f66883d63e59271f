import { z } from 'zod';
import { type RedisAddress, type SentinelAddress, shownHost } from './address.ts';
import { type ConnectionOptions, openConnection, type RedisConnection, ServerRefused } from './connection.ts';

type Host = SentinelAddress['sentinels'][number];

/**
 * Asks all Sentinels at once where the primary is, and takes the first answer.
 *
 * The library's own Sentinel client is not used: it waits for a failover and then sends again what was under way, up
 * to 16 times, so that a command is executed long after its caller was told that it failed. Here Sentinels only name
 * an address; the connection to it is one like any other, and what it leads to is checked like any other server.
 * Errors: ServerRefused where a Sentinel does not know the primary, or is none; an Error where none answers.
 */
export async function findPrimary(
  address: SentinelAddress,
  limits: ConnectionOptions,
): Promise<RedisAddress> {
  const { sentinels, primaryName, ...primary } = address;
  const asked = sentinels.map((sentinel) => askSentinel(sentinel, address, limits));
  try {
    return { ...primary, ...(await Promise.any(asked)) };
  } catch (error) {
    const reasons: unknown[] = error instanceof AggregateError ? error.errors : [error];
    throw reasons.find((reason) => reason instanceof ServerRefused) ?? reasons[0];
  }
}

async function askSentinel(
  sentinel: Host,
  address: SentinelAddress,
  limits: ConnectionOptions,
): Promise<Host> {
  const shown = `the Sentinel ${shownHost(sentinel)}`;
  // Sentinels often ask for no password, and refuse one; where they do, it is the primary's.
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
