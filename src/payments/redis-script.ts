import { createHash } from 'node:crypto';
import { ErrorReply } from '@redis/client';
import type { RedisServer } from './redis-connection.ts';
import {
  callerPrefix,
  markKey,
  metaKey,
  recordKey,
  recordPrefix,
  stateIndex,
  states,
  storeKey,
} from './redis-keys.ts';
import { leaseEnded } from './store.ts';

/** A Lua script, which Redis executes as one step. */
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

/**
 * Whose clock counts. `server`: Redis' own, the same for all processes that share the store; what a process says of a
 * time is moved by the difference between its clock and Redis'. `caller`: `now` of each call, for tests.
 */
export type StoreClock = 'server' | 'caller';

const keys = [storeKey, ...states.map(stateIndex), metaKey, markKey];

/** Answers after which the server is another one than it was: connecting again finds out which. */
const changed = /^(READONLY|LOST|MOVED|MASTERDOWN|NOAUTH)\b/;

/** What a script has to be told of the server. */
export type ScriptServer = Pick<RedisServer, 'link' | 'name' | 'retentionMs' | 'clock'>;

/** Runs a script, and gives what it returns. Errors: those of RedisLink.send. */
export async function runScript(server: ScriptServer, script: Script, input: ScriptInput): Promise<unknown> {
  const { link, name, retentionMs, clock } = server;
  const { id, now, args } = input;
  const scriptKeys = id === undefined ? keys : [...keys, recordKey(id)];
  const own = id === undefined ? args : [id, ...args];
  const common = [name, String(now), String(retentionMs), clock];
  const rest = [String(scriptKeys.length), ...scriptKeys, ...common, ...own];
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

/** Every script begins with this. ARGV: the store's name, now, the retention, the clock, then those of its own. */
const common = `
local lost = redis.call('GET', KEYS[1]) ~= ARGV[1]
if lost then return redis.error_reply('LOST it has lost its records') end
local index = { ${states.map((state, n) => `${state} = KEYS[${n + 2}]`).join(', ')} }
local meta, mark, record = KEYS[${states.length + 2}], KEYS[${states.length + 3}], KEYS[${states.length + 4}]
local open = { PENDING = true, UNKNOWN = true }

local function text(number) return string.format('%.0f', number) end

-- Times are text. What the caller says of one is moved to the clock that counts.
local now, shift = ARGV[2], 0
if ARGV[4] == 'server' then
  local time = redis.call('TIME')
  now = text(time[1] * 1000 + math.floor(time[2] / 1000))
  shift = now - ARGV[2]
end
local function moved(time) return text(time + shift) end
local outlivedBefore = text(now - ARGV[3])

-- Appends an event, which is JSON without its time, to the record's history.
local function tell(key, event, at)
  local line = '{"at":' .. at .. ',' .. string.sub(event, 2)
  redis.call('HSET', key, 'history', (redis.call('HMGET', key, 'history')[1] or '') .. '\\n' .. line)
end

local function callerIndex(caller, state)
  return '${callerPrefix}' .. caller .. (open[state] and ':open' or ':finished')
end

local function move(key, id, from, to, score)
  local caller, createdAt = unpack(redis.call('HMGET', key, 'caller', 'createdAt'))
  redis.call('ZREM', index[from], id)
  redis.call('ZADD', index[to], text(math.max(score, createdAt)), id)
  redis.call('HSET', key, 'state', to, 'updatedAt', now)
  redis.call('ZREM', callerIndex(caller, from), id)
  redis.call('ZADD', callerIndex(caller, to), createdAt, id)
  if open[to] then return end
  redis.call('PEXPIRE', key, ARGV[3])
  redis.call('PEXPIRE', callerIndex(caller, to), ARGV[3])
end

local function endLease(key, id)
  local state, leaseUntil, createdAt = unpack(redis.call('HMGET', key, 'state', 'leaseUntil', 'createdAt'))
  if state ~= 'PENDING' or tonumber(leaseUntil) > tonumber(now) then return false end
  move(key, id, 'PENDING', '${leaseEnded.state}', createdAt)
  redis.call('HSET', key, 'code', '${leaseEnded.code}', 'message', '${leaseEnded.message}')
  tell(key, '{"state":"${leaseEnded.state}"}', now)
  return true
end

-- The record as it is now; false where there is none, or where it has outlived the retention.
local function current(id)
  endLease(record, id)
  local state, updatedAt = unpack(redis.call('HMGET', record, 'state', 'updatedAt'))
  if not state or (not open[state] and tonumber(updatedAt) < tonumber(outlivedBefore)) then return false end
  return redis.call('HGETALL', record)
end

local function recordKey(id) return '${recordPrefix}' .. id end`;

/** A script of these lines, which see what `common` defines. */
export function script(lines: string): Script {
  const text = `${common}\n${lines}`;
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}
