-- Every change of shared state, as one atomic script over a list of steps (ARGV[1], JSON).
-- It counts, compares and remembers; what a candidate's health becomes is decided by the caller,
-- who says which version of the health record it looked at. ARGV[2]: rings that steps name by place
-- (from 0); further ARGV: texts, likewise (from 3).
-- Times travel as text: cjson would round them.
local P = KEYS[1]
local LEASES, CHANGED, CURSORS = P .. ':leases', P .. ':changed', P .. ':cursors'
local SEQ, EPOCH, PUSH, LEADER = P .. ':seq', P .. ':epoch', P .. ':push', P .. ':leader'
local FENCE, PROCESSES, TURNS = P .. ':fence', P .. ':processes', P .. ':turn:'
local FRAME, HEARD = P .. ':frame', P .. ':heard:'
local KEPT_S, REMEMBERED_S, MOST_DUE, MOST_TOLD, FRAME_KEPT_MS = 604800, 3600, 200, 2000, 2000
local HEARD_S, MOST_HEARD = 300, 2000
local call = redis.call
local rings = cjson.decode(ARGV[2])

-- Candidates are read once in a call and written back once, at its end or before others' are told.
-- API keys with limits are counted like candidates, under "\n<id>\n"; for them the two totals are
-- the day of their last grant and its tokens.
-- ``f``, kept as JSON: active, window, rpm, tpm, successes and failures of the minute, both totals, latency (or
-- false), version of the health record, sequence of the last change.
local seen, touched, turns, turned = {}, {}, {}, {}
local seq, next_due
local raw = {} -- frames, which travel as they are kept

local function lease_at(id) return P .. ':lease:' .. id end
local function number(value) return tonumber(value or 0) or 0 end

local function at(key)
  local one = seen[key]
  if one then return one end
  local c = P .. ':candidate:' .. key
  local h = call('HMGET', c, 'counts', 'life', 'judged')
  local f = h[1] and cjson.decode(h[1]) or {0, 0, 0, 0, 0, 0, 0, 0, false, 0, 0}
  one = {key = key, c = c, f = f, life = h[2], judged = number(h[3])}
  seen[key] = one
  return one
end

-- The candidate changed: whoever looks will hear of it.
local function touch(one)
  if not seq then seq = call('INCR', SEQ) end
  one.f[11] = seq
  touched[one.key] = one
end

local function write_back()
  for key, one in pairs(touched) do
    local c, f = one.c, one.f
    call('HSET', c, 'counts', cjson.encode(f))
    if one.lasts then call('HSET', c, 'life', one.life) end
    if one.record then
      one.judged = f[11]
      call('HSET', c, 'judged', f[11], 'health', one.record)
      one.record = nil
    end
    if one.lasts then call('EXPIRE', c, KEPT_S) end
    one.lasts = false
    call('ZADD', CHANGED, f[11], key)
  end
  for name in pairs(turned) do call('HSET', CURSORS, name, turns[name]) end
  touched, turned, seq = {}, {}, nil
end

local function told(one)
  return one.record or call('HGET', one.c, 'health') or false
end

-- The life of this candidate's counts: slots of an earlier life are nobody's any more.
local function life(one)
  if not one.life then
    one.life = tostring(call('INCR', SEQ))
    one.lasts = true
  end
  return one.life
end

-- As they are now: later steps of the call go on changing them.
local function counts(one)
  local f = one.f
  return {f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10], f[11]}
end

local function roll(one, window)
  local f = one.f
  if f[2] ~= window then
    f[2], f[3], f[4], f[5], f[6] = window, 0, 0, 0, 0
    one.lasts = true
  end
end

-- A lease is text: phase (one letter, changed in place), end, life of its candidate's counts,
-- secret's version, window, tokens, the key's three lines, the API key that pays for it (its life, a
-- blank, its id; or nothing), facts, first answer.
local LEASE = '^(%l)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n'
  .. '([^\n]*\n[^\n]*\n[^\n]*)\n([^\n]*)\n([^\n]*)\n(.*)$'
local LETTERS = {open = 'o', expired = 'x', repeated = 'r', released = 'b'}
local PHASES = {o = 'open', x = 'expired', r = 'repeated', b = 'released'}

local function lease_of(id)
  local text = call('GET', lease_at(id))
  if not text then return nil end
  local l = {id = id}
  l.phase, l.ends, l.life, l.secret, l.window, l.tokens, l.key, l.payer, l.facts, l.answer =
    string.match(text, LEASE)
  l.phase = PHASES[l.phase]
  return l
end

local function text_of(l)
  return table.concat({LETTERS[l.phase], l.ends, l.life, l.secret, l.window, l.tokens, l.key, l.payer,
    l.facts, l.answer}, '\n')
end

local function mark(l, phase) call('SETRANGE', lease_at(l.id), 0, LETTERS[phase]) end

local function member_of(l) return l.id .. '\n' .. l.life .. '\n' .. l.key end

local function open(l, kept_s)
  call('SET', lease_at(l.id), text_of(l), 'EX', kept_s)
  call('ZADD', LEASES, l.ends, member_of(l))
  if next_due and tonumber(l.ends) < next_due then next_due = tonumber(l.ends) end
end

-- The API key that pays for a lease, unless that key has gone.
local function payer_of(l)
  if l.payer == '' then return nil end
  local born, uid = string.match(l.payer, '^(%d+) (.*)$')
  local one = at('\n' .. uid .. '\n')
  return one.life == born and one or nil
end

local function free(one)
  one.f[1] = math.max(0, one.f[1] - 1)
  touch(one)
end

-- Take the lease off the open ones; its slot is free if its candidate still lives that life.
local function close(member, l)
  if call('ZREM', LEASES, member) == 0 then return end
  local born, key = string.match(member, '^[^\n]*\n([^\n]*)\n(.*)$')
  local one, payer = at(key), l and payer_of(l)
  if one.life == born then free(one) end
  if payer then free(payer) end
end

local DAY = 1440 -- windows

-- Replace what a lease held by what it used, where its windows are still counted.
local function settle(one, l, used, of_day)
  local f, more, window = one.f, used - tonumber(l.tokens), tonumber(l.window)
  if f[2] == window then f[4] = math.max(0, f[4] + more) end
  if of_day and f[7] == math.floor(window / DAY) then f[8] = math.max(0, f[8] + more) end
  touch(one)
end

local function look_ahead()
  local first = call('ZRANGE', LEASES, 0, 0, 'WITHSCORES')
  next_due = tonumber(first[2]) or math.huge
end

local function sweep(now)
  if not next_due then look_ahead() end
  while next_due <= tonumber(now) do
    for _, member in ipairs(call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, MOST_DUE)) do
      local l = lease_of(string.match(member, '^[^\n]*'))
      close(member, l)
      if l then mark(l, 'expired') end
    end
    look_ahead()
  end
end

local function over(used, tokens, limit)
  return limit >= 0 and (used >= limit or (used > 0 and used + tokens > limit))
end

-- The limit that admits no more: slots, requests or tokens of the minute.
local function full(f, limits, tokens)
  local slots, rpm = limits[2], limits[3]
  if slots >= 0 and f[1] >= slots then return 'max_parallel_requests' end
  if rpm >= 0 and f[3] >= rpm then return 'rpm_limit' end
  if over(f[4], tokens, limits[4]) then return 'tpm_limit' end
end

-- The same of an API key, which has tokens of the day besides.
local function spent(f, limits, tokens)
  local day = math.floor(f[2] / DAY)
  if f[7] ~= day then f[7], f[8] = day, 0 end
  return full(f, limits, tokens) or (over(f[8], tokens, limits[5]) and 'tokens_per_day')
end

-- A window ends for all at once: who is a moment behind goes by who is ahead.
local function agreed(window, one, now)
  if one.f[2] == window + 1 and one.f[2] * 60 - tonumber(now) < 1 then return one.f[2] end
  return window
end

-- Keep a health record if the caller has seen the newest one. ``d``: successes and failures, those
-- of the minute, whether the minute starts anew, latency, its weight, window; 0 for nothing.
local function judge(one, expected, record, d)
  local f = one.f
  if expected >= 0 and f[10] ~= expected then return false end
  if record ~= '' then
    f[10] = f[10] + 1
    one.record, one.lasts = record, true
    call('PUBLISH', PUSH, cjson.encode({'state', one.key, f[10], record}))
  end
  if d == 0 then return true end
  local reset, latency, window = d[5], d[6], d[8]
  if f[2] < window then roll(one, window) end
  f[7], f[8] = f[7] + d[1], f[8] + d[2]
  if reset then
    f[5], f[6] = 0, 0
  else
    f[5], f[6] = f[5] + d[3], f[6] + d[4]
  end
  if latency >= 0 then
    local mean = f[9] or latency
    f[9] = mean + d[7] * (latency - mean)
  end
  return true
end
