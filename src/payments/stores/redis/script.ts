import { createHash } from 'node:crypto';
import { ErrorReply } from '@redis/client';
import { leaseEnded } from '../../store.ts';
import {
  callerPrefix,
  markKey,
  metaKey,
  recordKey,
  recordPrefix,
  stateIndex,
  states,
  storeKey,
} from './keys.ts';
import type { RedisServer } from './server.ts';

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

const keys = [storeKey, ...states.map(stateIndex), metaKey, markKey];

/** Errors that mean the server's role or data has changed: reconnecting finds the right one. */
const changed = /^(READONLY|LOST|MOVED|MASTERDOWN|NOAUTH)\b/;

/** What a script needs to know about the server. */
export type ScriptServer = Pick<RedisServer, 'connection' | 'name' | 'retentionMs' | 'clock'>;

/** Runs a script, and gives what it returns. Errors: those of ReconnectingRedis.send. */
export async function runScript(server: ScriptServer, script: Script, input: ScriptInput): Promise<unknown> {
  const { connection, name, retentionMs, clock } = server;
  const { id, now, args } = input;
  const scriptKeys = id === undefined ? keys : [...keys, recordKey(id)];
  const own = id === undefined ? args : [id, ...args];
  const common = [name, String(now), String(retentionMs), clock];
  const rest = [String(scriptKeys.length), ...scriptKeys, ...common, ...own];
  try {
    return await connection.send(['EVALSHA', script.sha1, ...rest]).catch((error: unknown) => {
      if (!isReply(error, /^NOSCRIPT\b/)) throw error;
      return connection.send(['EVAL', script.text, ...rest]);
    });
  } catch (error) {
    if (isReply(error, changed)) connection.drop(error.message);
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

-- A line of a record's history: an event, which is JSON without its time, and the time.
local function line(event, at)
  return '\\n{"at":' .. at .. ',' .. string.sub(event, 2)
end

local function callerIndex(caller, state)
  return '${callerPrefix}' .. caller .. (open[state] and ':open' or ':finished')
end

local function move(key, id, from, to, event)
  local caller, createdAt, history = unpack(redis.call('HMGET', key, 'caller', 'createdAt', 'history'))
  redis.call('ZREM', index[from], id)
  redis.call('ZADD', index[to], open[to] and createdAt or text(math.max(now, createdAt)), id)
  redis.call('HSET', key, 'state', to, 'updatedAt', now, 'history', (history or '') .. line(event, now))
  if open[to] then return end
  redis.call('ZREM', callerIndex(caller, from), id)
  redis.call('ZADD', callerIndex(caller, to), createdAt, id)
  redis.call('PEXPIRE', callerIndex(caller, to), ARGV[3])
  redis.call('PEXPIRE', key, ARGV[3])
end

local function endLease(key, id)
  local state, leaseUntil = unpack(redis.call('HMGET', key, 'state', 'leaseUntil'))
  if state ~= 'PENDING' or tonumber(leaseUntil) > tonumber(now) then return false end
  move(key, id, 'PENDING', '${leaseEnded.state}', '{"state":"${leaseEnded.state}"}')
  redis.call('HSET', key, 'code', '${leaseEnded.code}', 'message', '${leaseEnded.message}')
  return true
end

-- The record as it is now; false where there is none, or where it has outlived the retention.
local function current(id)
  local state, updatedAt = unpack(redis.call('HMGET', record, 'state', 'updatedAt'))
  if not state or (not open[state] and tonumber(updatedAt) < tonumber(outlivedBefore)) then return false end
  endLease(record, id)
  return redis.call('HGETALL', record)
end

local function recordKey(id) return '${recordPrefix}' .. id end`;

/** A script of these lines, which see what `common` defines. */
export function script(lines: string): Script {
  const text = `${common}\n${lines}`;
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}
