import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type RedisConnection, ServerRefused } from './connection.ts';
import { storeKey } from './keys.ts';

export interface ServerDemands {
  /** Whether a server that may forget payments is accepted. */
  readonly allowVolatile: boolean;
  /** Replicas that have to confirm each payment; with them the server's own disk may lag a second. */
  readonly waitReplicas: number;
  /**
   * Whether Sentinels named the server: then a replica only means that they have not agreed yet, and one will take over that
   * has only what it confirmed.
   */
  readonly discovered: boolean;
}

const allow = 'or accept that it may forget payments with STATE_ALLOW_VOLATILE=1';

/**
 * Refuses a server that would forget payments, or that cannot write them.
 * Errors: ServerRefused; an Error where it is only not ready yet.
 */
export async function checkServer(connection: RedisConnection, demands: ServerDemands): Promise<void> {
  const { allowVolatile, waitReplicas, discovered } = demands;
  const info = await readInfo(connection);
  if (info === null) {
    if (allowVolatile) return;
    throw new ServerRefused(
      `this user may not run INFO there, so that it is not known what it keeps: allow it (ACL +info), ${allow}`,
    );
  }
  if (info.get('redis_mode') === 'sentinel') {
    throw new ServerRefused(
      'it is a Sentinel, which keeps no records: STATE_URL is redis+sentinel://host:port/name, with the name that the Sentinels call the primary',
    );
  }
  if (info.get('cluster_enabled') === '1') {
    throw new ServerRefused(
      'it is a node of a Redis Cluster, which gives up writes that it confirmed: run a primary of its own for the payments, with replicas and Sentinels where it has to fail over',
    );
  }
  if (info.get('loading') === '1') throw new Error('it is still reading its append-only file');
  if (info.get('role') === 'slave') {
    if (discovered) throw new Error('the Sentinels name a replica: their failover is not over');
    throw new ServerRefused('it is a replica: name the primary');
  }
  if (allowVolatile) return;
  if (discovered && waitReplicas === 0) {
    throw new ServerRefused(
      `the Sentinels may put a replica in its place that does not have the last payments: have replicas confirm each of them, with STATE_WAIT_REPLICAS=1 or more, ${allow}`,
    );
  }
  if (info.get('aof_enabled') !== '1') {
    throw new ServerRefused(
      `it has no append-only file, and forgets payments when it ends: set "appendonly yes" and "appendfsync always" there, ${allow}`,
    );
  }
  const policy = info.get('maxmemory_policy');
  if (policy !== 'noeviction') {
    throw new ServerRefused(
      `its maxmemory-policy is ${policy ?? 'not known'}, which may evict payments: set "maxmemory-policy noeviction" there, ${allow}`,
    );
  }
  const fsync = await readFsync(connection);
  if (fsync !== null && fsync !== 'always' && waitReplicas === 0) {
    throw new ServerRefused(
      `its appendfsync is ${fsync}, so that a power cut forgets the last payments: set "appendfsync always" there, or have replicas confirm payments with STATE_WAIT_REPLICAS, ${allow}`,
    );
  }
}

async function readInfo(connection: RedisConnection): Promise<ReadonlyMap<string, string> | null> {
  const text = await connection.send(['INFO']).catch(nullWhereForbidden);
  if (typeof text !== 'string') return null;
  const lines = [...text.matchAll(/^(\w+):(.*?)\r?$/gm)];
  return new Map(lines.map(([, name = '', value = '']) => [name, value]));
}

/** Null if this user may not run CONFIG, as on many hosted servers: then it is the operator's responsibility. */
async function readFsync(connection: RedisConnection): Promise<string | null> {
  const pair = await connection.send(['CONFIG', 'GET', 'appendfsync']).catch(nullWhereForbidden);
  return z.tuple([z.string(), z.string()]).safeParse(pair).data?.[1] ?? null;
}

function nullWhereForbidden(error: unknown): null {
  if (error instanceof Error && /^(NOPERM|ERR unknown command)/.test(error.message)) return null;
  throw error;
}

/** The prefix of the store's name; incremented when its keys change. */
const version = '1';

/**
 * The name of the store on this server. Each script checks it again: if it is gone, so are the records.
 * Shape:  null where there is none.
 * Errors: ServerRefused where a newer bankql has made it.
 */
export async function nameStore(
  connection: RedisConnection,
  { create }: { readonly create: boolean },
): Promise<string | null> {
  if (create) await connection.send(['SET', storeKey, `${version}:${randomUUID()}`, 'NX']);
  const name = await connection.send(['GET', storeKey]);
  if (typeof name !== 'string') return null;
  if (name.split(':', 1)[0] !== version) {
    throw new ServerRefused(
      `its records are of another version than ${version}, which this bankql knows: run the newer bankql`,
    );
  }
  return name;
}
