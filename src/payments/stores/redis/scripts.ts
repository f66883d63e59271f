import { script } from './script.ts';

/** One script for each method of the payment store. */

/** The maximum number of index entries that one call removes or reads, so that no script blocks Redis for long. */
export const maxEntries = 100;

/**
 * KEYS: the record. ARGV: its id, its caller, createdAt, updatedAt and leaseUntil, the event, then its other fields and
 * their values. Answers with the record that was there, or with numbers: how many payments were ever begun, when the
 * newest was, and when this one; and of the indexes how many entries were removed, how many were due, and how many there are.
 */
const begin = script(`
local id, caller = ARGV[5], ARGV[6]
local createdAt, updatedAt, leaseUntil = moved(ARGV[7]), moved(ARGV[8]), moved(ARGV[9])
local began, newestAt, loss = unpack(redis.call('HMGET', meta, 'began', 'newestAt', 'loss'))
if loss then return redis.error_reply('LOSS ' .. loss) end
if not began then return redis.error_reply('LOST it has lost its records') end
local found = current(id)
if found then return found end

-- First, so that a server without memory refuses it; the record comes last, so that a failure leaves none.
redis.call('ZADD', index.PENDING, text(math.max(leaseUntil, createdAt)), id)
-- Records expire by themselves; what points to them does not.
local removed, due, total = 0, 0, 0
for _, key in ipairs({ index.DONE, index.REJECTED }) do
  local gone = redis.call('ZRANGEBYSCORE', key, '-inf', '(' .. outlivedBefore, 'LIMIT', 0, ${maxEntries})
  if #gone > 0 then
    due = due + redis.call('ZCOUNT', key, '-inf', '(' .. outlivedBefore)
    removed = removed + redis.call('ZREM', key, unpack(gone))
  end
end
if removed > 0 then
  total = removed
  for _, key in pairs(index) do total = total + redis.call('ZCARD', key) end
end
local finished = callerIndex(caller, 'DONE')
for _, other in ipairs(redis.call('ZRANGEBYSCORE', finished, '-inf', '(' .. outlivedBefore, 'LIMIT', 0, ${maxEntries})) do
  if redis.call('EXISTS', recordKey(other)) == 0 then redis.call('ZREM', finished, other) end
end
redis.call('ZADD', callerIndex(caller, 'PENDING'), createdAt, id)

began = text(began + 1)
newestAt = text(math.max(newestAt or createdAt, createdAt))
redis.call('HSET', meta, 'began', began, 'newestAt', newestAt)
redis.call('HSET', mark, 'storeId', ARGV[1], 'began', began, 'newestAt', newestAt)
redis.call('DEL', record)
redis.call('HSET', record, 'awaited', '1', 'version', '2', 'caller', caller, 'createdAt', createdAt,
  'updatedAt', updatedAt, 'leaseUntil', leaseUntil, 'history', line(ARGV[10], createdAt), unpack(ARGV, 11))
return { tonumber(began), tonumber(newestAt), tonumber(createdAt), removed, due, total }`);

/** KEYS: the record. ARGV: its id, the Track-ID, the state, the event, then the fields that are not null and their values. */
const finish = script(`
local id, trackId, to = ARGV[5], ARGV[6], ARGV[7]
local from, begunBy, awaited = unpack(redis.call('HMGET', record, 'state', 'trackId', 'awaited'))
if begunBy ~= trackId or awaited ~= '1' then return 0 end
move(record, id, from, to, ARGV[8])
redis.call('HDEL', record, 'answer', 'code', 'status', 'message', 'bankText')
redis.call('HSET', record, 'awaited', '0', unpack(ARGV, 9))
return 1`);

/** KEYS: the record. ARGV: its id, the Track-ID, whether also after its lease: 1 or 0. */
const release = script(`
local id, trackId, afterLease = ARGV[5], ARGV[6], ARGV[7]
local state, begunBy, caller, awaited = unpack(redis.call('HMGET', record, 'state', 'trackId', 'caller', 'awaited'))
if begunBy ~= trackId or awaited ~= '1' or (state ~= 'PENDING' and afterLease ~= '1') then return 0 end
redis.call('ZREM', index[state], id)
redis.call('ZREM', callerIndex(caller, state), id)
redis.call('DEL', record)
return 1`);

/** KEYS: the record. ARGV: its id. */
const find = script('return current(ARGV[5])');

/** KEYS: the record. ARGV: its id, the state, who settled it, the event. */
const settle = script(`
local id, to, settledBy = ARGV[5], ARGV[6], ARGV[7]
endLease(record, id)
local state, settled = unpack(redis.call('HMGET', record, 'state', 'settledBy'))
if state ~= 'UNKNOWN' or settled then return 0 end
move(record, id, 'UNKNOWN', to, ARGV[8])
redis.call('HDEL', record, 'code', 'message')
redis.call('HSET', record, 'awaited', '0', 'settledBy', settledBy)
return 1`);

/** Ends some of the leases that are over. Answers with their number: where it is 0, none is left. */
const endLeases = script(`
local ended = 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', index.PENDING, '-inf', now, 'LIMIT', 0, ${maxEntries})) do
  if endLease(recordKey(id), id) then ended = ended + 1 end
end
return ended`);

/**
 * ARGV: an index, the command that reads it, its two bounds, the offset and the number of entries. Returns the time
 * before which finished records are expired, and ids with scores. The records are read by separate calls, so that none
 * blocks Redis for long.
 */
const readIndex = script(`
return { outlivedBefore, redis.call(ARGV[6], ARGV[5], ARGV[7], ARGV[8], 'WITHSCORES', 'LIMIT', ARGV[9], ARGV[10]) }`);

/** Answers with the number of records, of PENDING and of UNKNOWN ones, and with the loss, where there is one. */
const status = script(`
local ended = redis.call('ZCOUNT', index.PENDING, '-inf', now)
local pending = redis.call('ZCARD', index.PENDING) - ended
local unknown = redis.call('ZCARD', index.UNKNOWN) + ended
local finished = redis.call('ZCOUNT', index.DONE, outlivedBefore, '+inf')
  + redis.call('ZCOUNT', index.REJECTED, outlivedBefore, '+inf')
return { pending + unknown + finished, pending, unknown, redis.call('HMGET', meta, 'loss')[1] }`);

export const scripts = { begin, finish, release, find, settle, endLeases, readIndex, status };
