"""The one script: every change of a mailbox is one call of it, atomic on the server.

Keys: stream of bodies, leases (sorted set: stream id → end in ms), tokens (hash: stream id →
token of the delivery), deliveries (hash), delayed (sorted set), staged (hash: id → body), dead
(stream), counts (hash), bell (list: an element for each message that became ready, which wakes
one waiting worker), once (sorted set: key → when it was sent, in ms). A message that is leased,
or given back with a delay, is pending in the group and has an entry in leases; its delivery count
in the group is that of deliveries.
"""

GROUP = "workers"

SCRIPT = """
local stream, leases, tokens, deliveries, delayed, staged, dead, counts, bell, once =
  unpack(KEYS)
local operation, group = ARGV[1], 'workers'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function held(id, token)
  return redis.call('HGET', tokens, id) == token
end

local function remove(id)
  redis.call('XACK', stream, group, id)
  redis.call('XDEL', stream, id)
  redis.call('ZREM', leases, id)
  redis.call('HDEL', tokens, id)
  redis.call('HDEL', deliveries, id)
end

local function ring()
  if redis.call('LLEN', bell) < 1000 then redis.call('RPUSH', bell, 1) end
end

local function add(name, body, sent)
  redis.call('XADD', stream, '*', 'i', name, 'b', body, 's', sent)
  ring()
end

-- Ids are not used again after the server was emptied: they begin with its time.
local function fresh()
  return now .. '-' .. redis.call('HINCRBY', counts, 'sent', 1)
end

local function field(fields, name)
  for at = 1, #fields, 2 do
    if fields[at] == name then return fields[at + 1] end
  end
end

-- What becomes of an entry of the stream: its state, and the milliseconds until that ends.
local function state(id)
  local left = tonumber(redis.call('ZSCORE', leases, id) or now) - now
  if left <= 0 then return 'waiting', 0 end
  if redis.call('HEXISTS', tokens, id) == 1 then return 'leased', left end
  return 'delayed', left
end

local function promote()
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', delayed, '-inf', now, 'LIMIT', 0, 100)) do
    add(name, redis.call('HGET', staged, name), now)
    redis.call('HDEL', staged, name)
    redis.call('ZREM', delayed, name)
  end
end

local function lease(found, entry, token, lasting)
  local id, fields = entry[1], entry[2]
  local count = redis.call('HINCRBY', deliveries, id, 1)
  redis.call('HSET', tokens, id, token)
  redis.call('ZADD', leases, now + lasting, id)
  table.insert(found, {id, field(fields, 'i'), field(fields, 'b'), count, field(fields, 's')})
end

local function prolong(worker, id, token, lasting)
  if not held(id, token) then return -1 end
  local ends = math.max(tonumber(redis.call('ZSCORE', leases, id)), now + lasting)
  redis.call('ZADD', leases, ends, id)
  redis.call('XCLAIM', stream, group, worker, 0, id, 'JUSTID')
  return ends - now
end

if operation == 'put' then
  local delay = tonumber(ARGV[3])
  if ARGV[4] then
    redis.call('ZREMRANGEBYSCORE', once, '-inf', now - tonumber(ARGV[5]))
    if redis.call('ZADD', once, 'NX', now, ARGV[4]) == 0 then return false end
  end
  local name = fresh()
  if delay > 0 then
    redis.call('HSET', staged, name, ARGV[2])
    redis.call('ZADD', delayed, now + delay, name)
  else
    add(name, ARGV[2], now)
  end
  return name
end

if operation == 'take' then
  local want, lasting = tonumber(ARGV[2]), tonumber(ARGV[3])
  local worker, token, found = ARGV[4], ARGV[5], {}
  promote()
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'LIMIT', 0, want)) do
    local entry = redis.call('XCLAIM', stream, group, worker, 0, id)[1]
    if entry and entry[2] then lease(found, entry, token, lasting) else remove(id) end
  end
  if #found < want then
    local fresh = redis.call('XREADGROUP', 'GROUP', group, worker, 'COUNT', want - #found,
                             'STREAMS', stream, '>')
    if fresh then
      for _, entry in ipairs(fresh[1][2]) do
        lease(found, entry, token, lasting)
        redis.call('LPOP', bell)
      end
    end
  end
  return found
end

if operation == 'next' then
  local soonest = -1
  for _, key in ipairs({leases, delayed}) do
    local due = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if due then
      local left = math.max(0, tonumber(due) - now)
      if soonest < 0 or left < soonest then soonest = left end
    end
  end
  return soonest
end

if operation == 'stats' then
  promote()
  local in_flight, later = 0, 0
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', leases, '(' .. now, '+inf')) do
    if redis.call('HEXISTS', tokens, id) == 1 then
      in_flight = in_flight + 1
    else
      later = later + 1
    end
  end
  local waiting, oldest = redis.call('XLEN', stream) - in_flight - later, -1
  if waiting > 0 then
    for _, entry in ipairs(redis.call('XRANGE', stream, '-', '+', 'COUNT', 100)) do
      if state(entry[1]) == 'waiting' then
        oldest = math.max(0, now - tonumber(field(entry[2], 's')))
        break
      end
    end
  end
  return {waiting, in_flight, later + redis.call('ZCARD', delayed), redis.call('XLEN', dead),
          tonumber(redis.call('HGET', counts, 'acked') or 0), oldest}
end

if operation == 'peek' then
  promote()
  local found = {}
  for _, entry in ipairs(redis.call('XRANGE', stream, '-', '+', 'COUNT', ARGV[2])) do
    local kind, left = state(entry[1])
    table.insert(found, {field(entry[2], 'i'), field(entry[2], 'b'),
                         tonumber(redis.call('HGET', deliveries, entry[1]) or 0), kind, left,
                         field(entry[2], 's')})
  end
  local later = redis.call('ZRANGE', delayed, 0, -1, 'WITHSCORES')
  for at = 1, #later, 2 do
    if #found < tonumber(ARGV[2]) then
      local name, left = later[at], tonumber(later[at + 1]) - now
      table.insert(found, {name, redis.call('HGET', staged, name), 0, 'delayed', left, ''})
    end
  end
  return found
end

if operation == 'purge' then
  local gone = redis.call('ZCARD', delayed)
  redis.call('DEL', delayed, staged)
  for _, entry in ipairs(redis.call('XRANGE', stream, '-', '+')) do
    if state(entry[1]) ~= 'leased' then
      remove(entry[1])
      gone = gone + 1
    end
  end
  return gone
end

if operation == 'requeue' or operation == 'drop' then
  local first, last = '-', '+'
  if ARGV[2] then first, last = ARGV[2], ARGV[2] end
  local letters = redis.call('XRANGE', dead, first, last)
  for _, entry in ipairs(letters) do
    if operation == 'requeue' then
      add(fresh(), field(entry[2], 'b'), now)
    end
    redis.call('XDEL', dead, entry[1])
  end
  return #letters
end

if operation == 'extend' then
  local outcomes = {}
  for at = 3, #ARGV, 3 do
    table.insert(outcomes, prolong(ARGV[2], ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])))
  end
  return outcomes
end

local id, token = ARGV[2], ARGV[3]
if not held(id, token) then return -1 end

if operation == 'ack' then
  remove(id)
  redis.call('HINCRBY', counts, 'acked', 1)
  return 1
end

if operation == 'nack' then
  redis.call('HDEL', tokens, id)
  redis.call('ZADD', leases, now + tonumber(ARGV[4]), id)
  if tonumber(ARGV[4]) == 0 then ring() end
  return 1
end

if operation == 'bury' then
  local entry = redis.call('XRANGE', stream, id, id)[1]
  if entry then
    redis.call('XADD', dead, '*', 'i', field(entry[2], 'i'), 'b', field(entry[2], 'b'),
               'r', ARGV[4], 'n', redis.call('HGET', deliveries, id))
  end
  remove(id)
  return 1
end

return redis.error_reply('unknown operation ' .. operation)
"""
