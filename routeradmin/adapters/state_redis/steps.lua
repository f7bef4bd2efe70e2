-- Every change of shared state, as one atomic script over a list of steps (ARGV[1], JSON).
-- It counts, compares and remembers; what a candidate's health becomes is decided by the caller,
-- who says which version of the health record it looked at.
-- Times travel as text: cjson would round them.
local P = KEYS[1]
local LEASES, CHANGED, CURSORS = P .. ':leases', P .. ':changed', P .. ':cursors'
local SEQ, EPOCH, PUSH, LEADER = P .. ':seq', P .. ':epoch', P .. ':push', P .. ':leader'
local FENCE, PROCESSES, TURNS = P .. ':fence', P .. ':processes', P .. ':turn:'
local KEPT_S, REMEMBERED_S, MOST_DUE, MOST_TOLD = 604800, 3600, 200, 2000
local call = redis.call

local function at(key) return P .. ':candidate:' .. key end
local function lease_at(id) return P .. ':lease:' .. id end
local function number(value) return tonumber(value or 0) or 0 end

-- The candidate changed: whoever polls will hear of it; ``judged`` when its health record did.
local function touch(c, key, judged)
  local seq = call('INCR', SEQ)
  call('ZADD', CHANGED, seq, key)
  if judged then call('HSET', c, 'judged', seq) end
  call('EXPIRE', c, KEPT_S)
end

-- The life of this candidate's counts: slots of an earlier life are nobody's any more.
local function life(c)
  local found = call('HGET', c, 'life')
  if not found then
    found = tostring(call('INCR', SEQ))
    call('HSET', c, 'life', found)
  end
  return found
end

-- active, window, rpm, tpm, successes and failures of the minute, both totals, latency, version
local function counts(c)
  local f = call('HMGET', c, 'active', 'window', 'rpm', 'tpm', 'ms', 'mf', 'ok', 'bad', 'ema', 'v')
  local out = {}
  for i = 1, 8 do out[i] = number(f[i]) end
  out[9] = f[9] and tonumber(f[9]) or false
  out[10] = number(f[10])
  return out
end

local function roll(c, f, window)
  if f[2] ~= window then
    f[2], f[3], f[4], f[5], f[6] = window, 0, 0, 0, 0
    call('HSET', c, 'window', window, 'rpm', 0, 'tpm', 0, 'ms', 0, 'mf', 0)
  end
end

-- Take the lease off the open ones; true when it was open and its candidate still lives that life.
local function close(member)
  if call('ZREM', LEASES, member) == 0 then return false end
  local _, stop, _, born = string.find(member, '^([^\n]*)\n([^\n]*)\n')
  local key = string.sub(member, stop + 1)
  local c = at(key)
  if call('HGET', c, 'life') == born then
    if call('HINCRBY', c, 'active', -1) < 0 then call('HSET', c, 'active', 0) end
    touch(c, key)
  end
  return true
end

local function sweep(now)
  local due = call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, MOST_DUE)
  while #due > 0 do
    for _, member in ipairs(due) do
      close(member)
      local l = lease_at(string.match(member, '^[^\n]*'))
      if call('EXISTS', l) == 1 then call('HSET', l, 'phase', 'expired') end
    end
    due = call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, MOST_DUE)
  end
end

local function full(f, limits, tokens)
  local slots, rpm, tpm = limits[2], limits[3], limits[4]
  return (slots >= 0 and f[1] >= slots)
    or (rpm >= 0 and f[3] >= rpm)
    or (tpm >= 0 and (f[4] >= tpm or (f[4] > 0 and f[4] + tokens > tpm)))
end

local function told(c)
  local h = call('HGET', c, 'health')
  return h or false
end

-- Keep a health record if the caller has seen the newest one.
local function judge(c, key, expected, record, d)
  local v = number(call('HGET', c, 'v'))
  if expected >= 0 and v ~= expected then return false end
  if record ~= '' then
    v = v + 1
    call('HSET', c, 'v', v, 'health', record)
    call('PUBLISH', PUSH, cjson.encode({'state', key, v, record}))
  end
  if d.window > 0 then
    local f = counts(c)
    if f[2] < d.window then roll(c, f, d.window) end
  end
  if d.reset then call('HSET', c, 'ms', 0, 'mf', 0) end
  if d.ok ~= 0 then call('HINCRBY', c, 'ok', d.ok) end
  if d.bad ~= 0 then call('HINCRBY', c, 'bad', d.bad) end
  if d.ms ~= 0 and not d.reset then call('HINCRBY', c, 'ms', d.ms) end
  if d.mf ~= 0 and not d.reset then call('HINCRBY', c, 'mf', d.mf) end
  if d.latency >= 0 then
    local mean = call('HGET', c, 'ema')
    mean = mean and tonumber(mean) or d.latency
    call('HSET', c, 'ema', mean + d.alpha * (d.latency - mean))
  end
  return true
end

-- Whether a turn is not at this version any more. One that is not here has not moved on.
local function moved(id, version)
  local v = call('HGET', TURNS .. id, 'v')
  return v and number(v) ~= version
end

local function keep_turn(id, version, text)
  local t = TURNS .. id
  call('HSET', t, 'v', version, 'text', text)
  call('HDEL', t, 'claim', 'key', 'on')
  call('EXPIRE', t, REMEMBERED_S)
end

local step = {}

-- One slot on the candidate whose turn it is; ``ring`` holds part of the tier's free candidates.
-- ``kept`` is what is kept with it of the lease's turn (id, versions before and after, text,
-- claim), or false.
function step.reserve(now, ends, window, tokens, id, facts, cursor, first, total, ring, kept)
  sweep(now)
  if kept and moved(kept[1], kept[2]) then return {'stale'} end
  local turn = 0
  if cursor ~= '' then turn = number(call('HGET', CURSORS, cursor)) end
  local place = (turn % total - first) % total
  if place >= #ring then return {'moved', turn} end
  local one = ring[place + 1]
  local key = one[1]
  local c = at(key)
  local f = counts(c)
  roll(c, f, window)
  if full(f, one, tokens) then return {'full', place, f, turn} end
  local member = id .. '\n' .. life(c) .. '\n' .. key
  f[1], f[3], f[4] = f[1] + 1, f[3] + 1, f[4] + tokens
  call('HSET', c, 'active', f[1], 'rpm', f[3], 'tpm', f[4])
  call('ZADD', LEASES, ends, member)
  local l = lease_at(id)
  call('HSET', l, 'key', key, 'secret', one[5], 'ends', ends, 'facts', facts, 'member', member,
    'window', window, 'tokens', tokens)
  call('EXPIRE', l, math.ceil(tonumber(ends) - tonumber(now)) + REMEMBERED_S)
  if kept then
    local t = TURNS .. kept[1]
    call('HSET', t, 'v', kept[3])
    if kept[4] ~= '' then call('HSET', t, 'text', kept[4], 'on', key) end
    if kept[5] ~= '' then call('HSET', t, 'claim', kept[5], 'key', key) end
    call('EXPIRE', t, REMEMBERED_S)
  end
  if cursor ~= '' then turn = call('HINCRBY', CURSORS, cursor, 1) end
  touch(c, key)
  return {'granted', place, f, turn}
end

-- ``generation`` as text, empty for any. The lease, or why not.
local function find(id, generation)
  local l = call('HMGET', lease_at(id), 'key', 'member', 'facts', 'window', 'tokens', 'phase')
  if not l[1] then return nil, {'missing'} end
  if generation ~= '' and string.match(l[3], '^%[(%d+)') ~= generation then
    return nil, {'fenced'}
  end
  return l
end

-- End a lease: ``phase`` is what later reports meet, ``used`` the tokens charged in its window.
-- A report brings its ``answer``, the phase ``on`` which it was decided, and its turn (id, versions
-- before and after, text; or false): all of it is kept, or nothing if the lease or the turn has moved.
function step.close(now, id, generation, phase, used, expected, record, d, on, turn, answer)
  sweep(now)
  local l, why = find(id, generation)
  if not l then return why end
  local key, met = l[1], l[6] or 'open'
  local c = at(key)
  if met == 'expired' and phase == 'released' then return {'fenced'} end
  local over = met ~= 'open' and met ~= 'expired'
  local answered = call('HGET', lease_at(id), 'answer')
  if over and (answered or on == '') then
    return {met, key, counts(c), told(c), answered or false}
  end
  if on ~= '' and (on ~= met or (turn and moved(turn[1], turn[2]))) then
    return {'moved', key, counts(c), told(c), met}
  end
  if over then
    if turn then keep_turn(turn[1], turn[3], turn[4]) end
    call('HSET', lease_at(id), 'answer', answer)
    return {met, key, counts(c), told(c), false}
  end
  local born = string.match(l[2], '^[^\n]*\n([^\n]*)')
  local lives = call('HGET', c, 'life') == born
  if lives and not judge(c, key, expected, record, d) then
    return {'conflict', key, counts(c), told(c)}
  end
  close(l[2])
  call('HSET', lease_at(id), 'phase', phase)
  if answer ~= '' then call('HSET', lease_at(id), 'answer', answer) end
  if turn then keep_turn(turn[1], turn[3], turn[4]) end
  if lives then
    if call('HGET', c, 'window') == l[4] then
      local tpm = number(call('HGET', c, 'tpm')) - number(l[5]) + used
      call('HSET', c, 'tpm', math.max(0, tpm))
    end
    touch(c, key, record ~= '')
  end
  return {met, key, counts(c), lives}
end

function step.renew(now, id, generation, ends)
  sweep(now)
  local l, why = find(id, generation)
  if not l then return why end
  if l[6] then return {'fenced'} end
  call('ZADD', LEASES, 'XX', ends, l[2])
  call('HSET', lease_at(id), 'ends', ends)
  call('EXPIRE', lease_at(id), math.ceil(tonumber(ends) - tonumber(now)) + REMEMBERED_S)
  return {'renewed'}
end

function step.lease(id)
  local l = call('HMGET', lease_at(id), 'key', 'secret', 'ends', 'facts', 'phase', 'answer')
  if not l[1] then return {'missing'} end
  return {'found', l[1], number(l[2]), l[3], l[4], l[5] or 'open', l[6] or false}
end

-- Slots that were granted while this store was out of reach.
function step.adopt(id, ends, key, secret, facts, window, tokens)
  local l = lease_at(id)
  if call('EXISTS', l) == 1 then return {'known'} end
  local c = at(key)
  local member = id .. '\n' .. life(c) .. '\n' .. key
  call('HINCRBY', c, 'active', 1)
  call('ZADD', LEASES, ends, member)
  call('HSET', l, 'key', key, 'secret', secret, 'ends', ends, 'facts', facts, 'member', member,
    'window', window, 'tokens', tokens)
  call('EXPIRE', l, 2 * REMEMBERED_S)
  touch(c, key)
  return {'adopted'}
end

-- ``rpm`` and ``tpm`` had been charged before, whether Redis remembers or not; the rest is new.
function step.charge(key, window, rpm, tpm, more_rpm, more_tpm)
  local c = at(key)
  local f = counts(c)
  if f[2] > window then return {'past'} end
  roll(c, f, window)
  call('HSET', c, 'rpm', math.max(f[3], rpm) + more_rpm,
    'tpm', math.max(0, math.max(f[4], tpm) + more_tpm))
  touch(c, key)
  return {'charged'}
end

-- Health alone: people, probes, ends of cooldowns. ``fence``: only while that leader leads.
function step.commit(key, expected, record, d, fence)
  local c = at(key)
  if fence ~= '' and call('GET', LEADER) ~= fence then
    return {'deposed', counts(c), told(c)}
  end
  life(c)
  if not judge(c, key, expected, record, d) then
    return {'conflict', counts(c), told(c)}
  end
  touch(c, key, record ~= '')
  return {'kept', counts(c)}
end

function step.forget(key)
  call('DEL', at(key))
  call('ZREM', CHANGED, key)
  return {'forgotten'}
end

function step.drop_cursor(name)
  return {call('HDEL', CURSORS, name)}
end

function step.sweep(now)
  sweep(now)
  return {}
end

-- What changed after ``since``: sequence, epoch, and per candidate its counts and health record.
function step.poll(now, since, epoch)
  sweep(now)
  if epoch ~= '' then call('SET', EPOCH, epoch, 'NX') end
  local found = call('ZRANGEBYSCORE', CHANGED, '(' .. since, '+inf', 'WITHSCORES', 'LIMIT', 0, MOST_TOLD)
  local out, last = {}, since
  for i = 1, #found, 2 do
    local key = found[i]
    local c = at(key)
    last = found[i + 1]
    if call('EXISTS', c) == 0 then
      call('ZREM', CHANGED, key)
    else
      local f = counts(c)
      local judged = number(call('HGET', c, 'judged')) > number(since)
      out[#out + 1] = {key, f, judged and told(c) or false}
    end
  end
  return {last, call('GET', EPOCH) or '', out, #found == 2 * MOST_TOLD}
end

function step.known()
  return {call('ZRANGE', CHANGED, 0, -1), call('HKEYS', CURSORS)}
end

function step.save_turn(id, before, after, text)
  if moved(id, before) then return {'stale'} end
  keep_turn(id, after, text)
  return {'saved'}
end

-- A turn from memory: another process may know a later state of it.
function step.offer_turn(id, version, text, claim, key)
  if number(call('HGET', TURNS .. id, 'v')) >= version then return {'known'} end
  keep_turn(id, version, text)
  if claim ~= '' then call('HSET', TURNS .. id, 'claim', claim, 'key', key) end
  return {'kept'}
end

function step.load_turn(id)
  local t = call('HMGET', TURNS .. id, 'v', 'text', 'claim', 'key', 'on')
  return {number(t[1]), t[2] or false, t[3] or false, t[4] or false, t[5] or false}
end

-- Be the leader for a while: the fence, or false and who leads. A new reign has a higher fence.
function step.lead(id, lasts_ms)
  local held = call('GET', LEADER)
  local holder = held and string.match(held, '^%d+ (.*)$')
  if holder == id then
    call('PEXPIRE', LEADER, lasts_ms)
    return {held}
  end
  if held then return {false, holder} end
  -- Not below the time, so that it grows even over a Redis that lost its data.
  local reign = math.max(number(call('GET', FENCE)) + 1, number(call('TIME')[1]))
  call('SET', FENCE, string.format('%d', reign))
  local fence = string.format('%d', reign) .. ' ' .. id
  call('SET', LEADER, fence, 'PX', lasts_ms)
  return {fence}
end

function step.abdicate(fence)
  if call('GET', LEADER) == fence then call('DEL', LEADER) end
  return {}
end

function step.beat(id, text)
  call('HSET', PROCESSES, id, text)
  return {call('HGETALL', PROCESSES)}
end

function step.gone(id)
  return {call('HDEL', PROCESSES, id)}
end

function step.tell(text)
  return {call('PUBLISH', PUSH, text)}
end

local answers = {}
for i, asked in ipairs(cjson.decode(ARGV[1])) do
  local name = table.remove(asked, 1)
  local fine, answer = pcall(step[name], unpack(asked))
  if not fine then answer = {'failed', name .. ': ' .. tostring(type(answer) == 'table' and answer.err or answer)} end
  answers[i] = answer
end
return cjson.encode(answers)
