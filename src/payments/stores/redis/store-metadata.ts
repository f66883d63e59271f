import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { describeLoss, type HighWaterMark } from '../high-water-mark.ts';
import type { KeptMarks } from '../known-marks.ts';
import type { ConfirmedBegin } from '../recent-begins.ts';
import { ServerRefused } from './connection.ts';
import { runScript, type ScriptServer, script } from './script.ts';
import type { StoreMetadata } from './server.ts';

const version = '1';
const openScript = script(`
-- Each command that scripts run, on what does not exist: a user who may not run one is told at the start, not when a
-- payment needs it. The first one is for a server without memory, where a script may write once it has deleted.
local none = recordKey('')
redis.call('DEL', none)
redis.call('EXISTS', none)
redis.call('PEXPIRE', none, 1)
redis.call('HDEL', none, '')
redis.call('ZADD', none, 'XX', 0, '')
redis.call('ZREM', none, '')
redis.call('ZCARD', none)
redis.call('ZCOUNT', none, 0, 0)
redis.call('ZRANGEBYSCORE', none, 0, 0)
redis.call('ZREVRANGEBYSCORE', none, 0, 0)
redis.call('TIME')
redis.call('HSETNX', meta, 'version', '${version}')
redis.call('HSETNX', meta, 'secret', ARGV[5])
redis.call('HSETNX', meta, 'began', '0')
return { redis.call('HGETALL', meta), redis.call('HMGET', mark, 'storeId', 'began', 'newestAt') }`);

/**
 * ARGV: of each payment its id, its Track-ID, and when it began. Returns the times of those that are missing, except
 * those that began before a loss was accepted and those that may have expired.
 */
const missingScript = script(`
local acceptedAt = tonumber(redis.call('HMGET', meta, 'lossAcceptedAt')[1]) or -1
local missing = {}
for n = 5, #ARGV, 3 do
  local createdAt = tonumber(ARGV[n + 2])
  if createdAt > acceptedAt and createdAt >= tonumber(outlivedBefore)
    and redis.call('HMGET', recordKey(ARGV[n]), 'trackId')[1] ~= ARGV[n + 1] then table.insert(missing, createdAt) end
end
return missing`);

/**
 * ARGV: the loss, and the store and numbers of each mark that does not fit. The highest mark noted by any process
 * stays.
 */
const noteScript = script(`
redis.call('HSET', meta, 'loss', ARGV[5])
for n = 6, #ARGV, 3 do
  local field, began, newestAt = 'missed:' .. ARGV[n], tonumber(ARGV[n + 1]), tonumber(ARGV[n + 2]) or 0
  local noted, notedAt = string.match(redis.call('HMGET', meta, field)[1] or '', '^(%d+) (%d*)$')
  began = math.max(began, tonumber(noted) or 0)
  newestAt = math.max(newestAt, tonumber(notedAt) or 0)
  redis.call('HSET', meta, field, text(began) .. ' ' .. (newestAt > 0 and text(newestAt) or ''))
end
return 1`);

/** ARGV: who accepts it. Missing payments of this store count as begun from now on, so that the marks fit. */
const acceptScript = script(`
local fields, began, newestAt = redis.call('HGETALL', meta), unpack(redis.call('HMGET', meta, 'began', 'newestAt'))
for n = 1, #fields, 2 do
  local store = string.match(fields[n], '^missed:(.+)$')
  if store == ARGV[1] then
    local missed, missedAt = string.match(fields[n + 1], '^(%d+) (%d*)$')
    began = text(math.max(began, missed))
    newestAt = text(math.max(newestAt or 0, tonumber(missedAt) or 0))
  elseif store then
    redis.call('HSET', meta, 'accepted:' .. store, ARGV[5])
  end
  if store then redis.call('HDEL', meta, fields[n]) end
end
redis.call('HDEL', meta, 'loss')
redis.call('HSET', meta, 'began', began, 'lossAcceptedBy', ARGV[5], 'lossAcceptedAt', now)
redis.call('HSET', mark, 'storeId', ARGV[1], 'began', began)
if newestAt then
  redis.call('HSET', meta, 'newestAt', newestAt)
  redis.call('HSET', mark, 'newestAt', newestAt)
else
  redis.call('HDEL', mark, 'newestAt')
end
return { tonumber(began), tonumber(newestAt) }`);

/** All scripts of this file, for whoever stands in for a Redis. */
export const metadataScripts = {
  open: openScript,
  missing: missingScript,
  note: noteScript,
  accept: acceptScript,
};

const count = z.coerce.number().int().nonnegative();
const optionalTime = z.coerce.number().nullable();
const response = z.tuple([
  z.array(z.string()),
  z.tuple([z.string().nullable(), z.string().nullable(), optionalTime]),
]);

/**
 * Reads the store's metadata, or creates it, with `secret` if one is known. If a mark does not fit, or a begun payment
 * is missing, that is noted in the store: `begin` then fails in all processes until an operator accepts the loss
 * (acceptLoss).
 *
 * The marks have to be read before the store: while other processes begin payments, the store may be ahead of the
 * marks, but never behind them.
 * Errors: those of ReconnectingRedis.send; ServerRefused where a newer bankql made it.
 */
export async function openStoreMetadata(
  server: ScriptServer,
  { marks, begins, secret }: Pick<KeptMarks, 'marks' | 'begins'> & { secret: string | null },
): Promise<StoreMetadata> {
  const proposed = secret ?? randomBytes(32).toString('hex');
  const [flat, [markStore, markBegan, markNewestAt]] = response.parse(
    await runScript(server, openScript, { now: 0, args: [proposed] }),
  );
  const meta = new Map<string, string>();
  for (let n = 0; n + 1 < flat.length; n += 2) meta.set(flat[n] ?? '', flat[n + 1] ?? '');
  if (meta.get('version') !== version) {
    throw new ServerRefused(
      `its records are of version ${meta.get('version')}, and this bankql knows version ${version}: run the newer bankql`,
    );
  }
  const held: HighWaterMark = {
    storeId: server.name,
    began: count.parse(meta.get('began')),
    newestAt: optionalTime.parse(meta.get('newestAt') ?? null),
  };
  const all = [...marks];
  if (markStore !== null) {
    const mark = { storeId: markStore, began: count.parse(markBegan), newestAt: markNewestAt };
    all.push({ where: 'its own mark', mark });
  }
  const missed = all
    .filter(({ mark }) => !meta.has(`accepted:${mark.storeId}`))
    .map(({ where, mark }) => ({ mark, loss: describeLoss(held, mark, where) }))
    .filter(({ loss }) => loss !== null);
  const loss = missed[0]?.loss ?? (await missingBegins(server, begins)) ?? meta.get('loss') ?? null;
  if (loss !== null && loss !== meta.get('loss')) {
    const fields = missed.flatMap(({ mark }) => [
      mark.storeId,
      String(mark.began),
      String(mark.newestAt ?? ''),
    ]);
    await runScript(server, noteScript, { now: 0, args: [loss, ...fields] });
  }
  return { secret: meta.get('secret') ?? proposed, loss, held };
}

/** Describes in one sentence which payments are missing that this process saw confirmed; null if none is. */
async function missingBegins(
  server: ScriptServer,
  begins: readonly ConfirmedBegin[],
): Promise<string | null> {
  if (begins.length === 0) return null;
  const args = begins.flatMap(({ id, trackId, createdAt }) => [id, trackId, String(createdAt)]);
  const missing = z.array(z.number()).parse(await runScript(server, missingScript, { now: 0, args }));
  if (missing.length === 0) return null;
  const since = new Date(Math.min(...missing)).toISOString();
  return `it has lost records: of the latest ${begins.length} payments of this process ${missing.length} are missing, the first of ${since}`;
}

/** Accepts the loss. Shape: the store's high-water mark from then on. Errors: those of ReconnectingRedis.send. */
export async function acceptMissing(
  server: ScriptServer,
  acceptedBy: string,
  now: number,
): Promise<HighWaterMark> {
  const accepted = await runScript(server, acceptScript, { now, args: [acceptedBy] });
  const [began, newestAt = null] = z.array(z.number()).parse(accepted);
  return { storeId: server.name, began: began ?? 0, newestAt };
}
