import { createHash } from 'node:crypto';
import { ErrorReply } from '@redis/client';
import type { RedisServer } from './redis-connection.ts';
import { leaseEnded, type PaymentState } from './store.ts';

/**
 * The payment store in Redis: its keys, and one Lua script a method. All keys are in one hash slot, so that the
 * scripts are legal in a cluster.
 *
 * A record is a hash with the names of PaymentRecord's fields; a field that is null is absent. Beside them
 * `awaited`: its attempt may still say how it ended. Numbers stay text, because Lua's would lose digits.
 * An index a state holds the ids of its records, by the number that the state is searched for: the lease's end
 * (PENDING), the beginning (UNKNOWN), the last change (DONE, REJECTED; a record that expired is still in it).
 */

/** Names the store (see nameStore in redis-check.ts): without it, the records are gone. */
export const storeKey = '{bankql}:store';
export const recordKey = (id: string) => `${recordPrefix}${id}`;
const recordPrefix = '{bankql}:payment:';
const states: readonly PaymentState[] = ['PENDING', 'UNKNOWN', 'DONE', 'REJECTED'];

const commonKeys = [storeKey, ...states.map((state) => `{bankql}:payments:${state}`)];

export interface Script {
  readonly text: string;
  readonly sha1: string;
}

export interface ScriptInput {
  /** The record's id, where the script is about one. */
  readonly id?: string;
  readonly now: number;
  readonly args: readonly string[];
}

/** Answers after which the server is another one than it was: connecting again finds out which. */
const changed = /^(READONLY|LOST|MOVED|MASTERDOWN|NOAUTH)\b/;

/** Runs a script, and gives what it returns. Errors: those of RedisLink.send. */
export async function runScript(server: RedisServer, script: Script, input: ScriptInput): Promise<unknown> {
  const { link, name, retentionMs } = server;
  const { id, now, args } = input;
  const keys = id === undefined ? commonKeys : [...commonKeys, recordKey(id)];
  const own = id === undefined ? args : [id, ...args];
  const rest = [String(keys.length), ...keys, name, String(now), String(retentionMs), ...own];
  try {
    return await link.send(['EVALSHA', script.sha1, ...rest]).catch((error: unknown) => {
      if (!isReply(error, /^NOSCRIPT\b/)) throw error;
      return link.send(['EVAL', script.text, ...rest]);
    });
  } catch (error) {
    if (isReply(error, changed)) link.drop(error.message);
    throw error;
  }
}

const isReply = (error: unknown, what: RegExp): error is ErrorReply =>
  error instanceof ErrorReply && what.test(error.message);

/** Every script begins with this. ARGV: the store's name, now, the retention, then those of its own. */
const common = `
local lost = redis.call('GET', KEYS[1]) ~= ARGV[1]
if lost then return redis.error_reply('LOST it has lost its records') end
local index = { ${states.map((state, n) => `${state} = KEYS[${n + 2}]`).join(', ')} }
local now, retention = ARGV[2], tonumber(ARGV[3])
local outlivedBefore = tonumber(now) - retention
local record = KEYS[6]

local function move(key, id, from, to, score)
  redis.call('ZREM', index[from], id)
  redis.call('ZADD', index[to], score, id)
  redis.call('HSET', key, 'state', to, 'updatedAt', now)
end

-- Appends a line to the record's history.
local function tell(key, event)
  redis.call('HSET', key, 'history', (redis.call('HGET', key, 'history') or '') .. '\\n' .. event)
end

local function endLease(key, id)
  local state, leaseUntil, createdAt = unpack(redis.call('HMGET', key, 'state', 'leaseUntil', 'createdAt'))
  if state ~= 'PENDING' or tonumber(leaseUntil) > tonumber(now) then return end
  move(key, id, 'PENDING', '${leaseEnded.state}', createdAt)
  redis.call('HSET', key, 'code', '${leaseEnded.code}', 'message', '${leaseEnded.message}')
  tell(key, '{"state":"${leaseEnded.state}","at":' .. now .. '}')
end

-- The record as it is now; false where there is none, or where it has outlived the retention.
local function current(id)
  endLease(record, id)
  local state, updatedAt = unpack(redis.call('HMGET', record, 'state', 'updatedAt'))
  if not state then return false end
  local finished = state == 'DONE' or state == 'REJECTED'
  if finished and tonumber(updatedAt) < outlivedBefore then return false end
  return redis.call('HGETALL', record)
end`;

function script(lines: string): Script {
  const text = `${common}\n${lines}`;
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}

/** KEYS: the record. ARGV: its id, its leaseUntil, the event, then its fields and their values. */
const begin = script(`
local id, leaseUntil = ARGV[4], ARGV[5]
local found = current(id)
if found then return found end
-- First, so that a server without memory refuses it; the record comes last, so that a failure leaves none.
redis.call('ZADD', index.PENDING, leaseUntil, id)
-- Records expire by themselves; what points to them does not.
for _, state in ipairs({ 'DONE', 'REJECTED' }) do
  local gone = redis.call('ZRANGEBYSCORE', index[state], '-inf', '(' .. string.format('%.0f', outlivedBefore), 'LIMIT', 0, 100)
  if #gone > 0 then redis.call('ZREM', index[state], unpack(gone)) end
  redis.call('ZREM', index[state], id)
end
redis.call('DEL', record)
redis.call('HSET', record, 'awaited', '1', 'history', ARGV[6], unpack(ARGV, 7))
return false`);

/** KEYS: the record. ARGV: its id, the Track-ID, the state, the event, then the fields that are not null and their values. */
const finish = script(`
local id, trackId, to = ARGV[4], ARGV[5], ARGV[6]
local from, begunBy, awaited, createdAt = unpack(redis.call('HMGET', record, 'state', 'trackId', 'awaited', 'createdAt'))
if begunBy ~= trackId or awaited ~= '1' then return 0 end
move(record, id, from, to, to == 'UNKNOWN' and createdAt or now)
redis.call('HDEL', record, 'answer', 'code', 'status', 'message', 'bankText')
redis.call('HSET', record, 'awaited', '0', unpack(ARGV, 8))
tell(record, ARGV[7])
if to ~= 'UNKNOWN' then redis.call('PEXPIRE', record, ARGV[3]) end
return 1`);

/** KEYS: the record. ARGV: its id, the Track-ID. */
const reopen = script(`
local id, trackId = ARGV[4], ARGV[5]
local state, begunBy = unpack(redis.call('HMGET', record, 'state', 'trackId'))
if state ~= 'PENDING' or begunBy ~= trackId then return 0 end
redis.call('ZREM', index.PENDING, id)
redis.call('DEL', record)
return 1`);

/** KEYS: the record. ARGV: its id. */
const find = script('return current(ARGV[4])');

/** ARGV: the state. Answers with ids: the records follow in calls of their own, so that none holds up Redis. */
const list = script(`
local ended = redis.call('ZRANGEBYSCORE', index.PENDING, '-inf', now)
for _, id in ipairs(ended) do endLease('${recordPrefix}' .. id, id) end
return redis.call('ZRANGE', index[ARGV[4]], 0, -1)`);

/** KEYS: the record. ARGV: its id, the state, who settled it, the event. */
const settle = script(`
local id, to, settledBy = ARGV[4], ARGV[5], ARGV[6]
endLease(record, id)
local state, settled = unpack(redis.call('HMGET', record, 'state', 'settledBy'))
if state ~= 'UNKNOWN' or settled then return 0 end
move(record, id, 'UNKNOWN', to, now)
redis.call('HDEL', record, 'code', 'message')
redis.call('HSET', record, 'awaited', '0', 'settledBy', settledBy)
tell(record, ARGV[7])
redis.call('PEXPIRE', record, ARGV[3])
return 1`);

export const scripts = { begin, finish, reopen, find, list, settle };
