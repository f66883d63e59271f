import { z } from 'zod';
import { hashUnderSecret } from '../../caller-hash.ts';
import { stateIndex, states } from './keys.ts';
import { runScript, script } from './script.ts';
import { type RedisReader, readIndex } from './search.ts';
import type { RedisServer } from './server.ts';

/** The tolerated clock error of the processes that wrote version 1. */
const marginMs = 24 * 60 * 60 * 1000;

/** Returns the current time, and when the last completed migration began. */
const beginScript = script("return { now, redis.call('HMGET', meta, 'migratedAt')[1] }");
const endScript = script("redis.call('HSET', meta, 'migratedAt', ARGV[5]) return 1");

/** ARGV: ids. Answers with id and caller of the records of version 1 among them. */
const readScript = script(`
local old = {}
for n = 5, #ARGV do
  local version, caller = unpack(redis.call('HMGET', recordKey(ARGV[n]), 'version', 'caller'))
  if caller and not version then
    table.insert(old, ARGV[n])
    table.insert(old, caller)
  end
end
return old`);

/** ARGV: of each record its id, its caller, and its caller in version 2. */
const writeScript = script(`
for n = 5, #ARGV, 3 do
  local key, id, before, after = recordKey(ARGV[n]), ARGV[n], ARGV[n + 1], ARGV[n + 2]
  local version, caller, state, createdAt = unpack(redis.call('HMGET', key, 'version', 'caller', 'state', 'createdAt'))
  if caller == before and not version then
    redis.call('HSET', key, 'caller', after, 'version', '2')
    redis.call('ZREM', callerIndex(before, state), id)
    redis.call('ZADD', callerIndex(after, state), createdAt, id)
    if not open[state] then redis.call('PEXPIRE', callerIndex(after, state), ARGV[3]) end
  end
end
return 1`);

/** All scripts of this file, for whoever stands in for a Redis. */
export const migrationScripts = {
  begin: beginScript,
  read: readScript,
  write: writeScript,
  end: endScript,
};

/**
 * Migrates records of version 1 to version 2: their callers are hashed under the store's secret, and indexed. Each
 * process does it at its start for what was written since the last migration, because an older bankql running beside it
 * may still write version 1. Any number of processes may do it at once.
 */
export async function migrateCallers(server: RedisServer): Promise<void> {
  const { secret } = server.meta;
  // Without a timeout, since no caller waits yet: only a lost connection ends it.
  const reader: Pick<RedisReader, 'run'> = {
    run: (script, args, parse) => runScript(server, script, { now: 0, args }).then(parse),
  };
  const times = z.tuple([z.string(), z.coerce.number().nullable()]);
  const [now, migratedAt] = await reader.run(beginScript, [], times.parse);
  const since = migratedAt === null ? undefined : migratedAt - marginMs;
  for (const state of states) {
    for await (const { entries } of readIndex(reader, stateIndex(state), { since })) {
      const ids = entries.map(({ id }) => id);
      const old = await reader.run(readScript, ids, z.array(z.string()).parse);
      const args: string[] = [];
      for (let n = 0; n + 1 < old.length; n += 2) {
        const [id = '', caller = ''] = old.slice(n, n + 2);
        args.push(id, caller, hashUnderSecret(secret, caller));
      }
      if (args.length > 0) await reader.run(writeScript, args, z.number().parse);
    }
  }
  await reader.run(endScript, [now], z.number().parse);
}
