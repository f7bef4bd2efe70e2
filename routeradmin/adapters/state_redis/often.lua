-- What requests ask for all the time; behind candidates.lua.
local function turn_of(cursor)
  if cursor == '' then return 0 end
  if not turns[cursor] then turns[cursor] = number(call('HGET', CURSORS, cursor)) end
  return turns[cursor]
end

-- Whether a turn is not at this version any more. One that is not here has not moved on.
local function moved(id, version)
  local v = call('HGET', TURNS .. id, 'v')
  return v and number(v) ~= version
end

local function keep_turn(id, version, text)
  local t = TURNS .. id
  call('HSET', t, 'v', version, 'text', ARGV[text])
  call('HDEL', t, 'claim', 'key', 'on')
  call('EXPIRE', t, REMEMBERED_S)
end

-- ``kept``: id, versions before and after, text of a new turn, claim.
local function begin_turn(kept, key)
  local t = TURNS .. kept[1]
  call('HSET', t, 'v', kept[3])
  if kept[4] ~= 0 then call('HSET', t, 'text', ARGV[kept[4]], 'on', key) end
  if kept[5] ~= '' then call('HSET', t, 'claim', kept[5], 'key', key) end
  call('EXPIRE', t, REMEMBERED_S)
end

local step = {}

-- How full candidates are now, for whoever was about to refuse.
function step.recount(now, keys)
  sweep(now)
  local out = {}
  for place, key in ipairs(keys) do out[place] = counts(at(key)) end
  return {'counted', out}
end

-- One slot on the candidate whose turn it is; the ring holds part of the tier's free candidates.
-- ``kept`` is what is kept with it of the lease's turn, or 0; ``pays`` the limits of the API key
-- that pays for it, or 0.
function step.reserve(now, ends, window, tokens, id, facts, cursor, first, total, ring, kept, pays)
  sweep(now)
  if kept ~= 0 and moved(kept[1], kept[2]) then return {'stale'} end
  ring = rings[ring + 1]
  local turn = turn_of(cursor)
  local place = (turn % total - first) % total
  if place >= #ring then return {'moved', turn} end
  local limits = ring[place + 1]
  local one, payer = at(limits[1]), pays ~= 0 and at(pays[1])
  window = agreed(window, one, now)
  if payer then
    window = agreed(window, payer, now)
    roll(payer, window)
    local limit = spent(payer.f, pays, tokens)
    if limit then return {'limited', limit, counts(payer), turn} end
  end
  roll(one, window)
  local f = one.f
  if full(f, limits, tokens) then return {'full', place, counts(one), turn, payer and counts(payer)} end
  f[1], f[3], f[4] = f[1] + 1, f[3] + 1, f[4] + tokens
  if payer then
    local p = payer.f
    p[1], p[3], p[4], p[8] = p[1] + 1, p[3] + 1, p[4] + tokens, p[8] + tokens
    touch(payer)
  end
  open({id = id, phase = 'open', ends = ends, life = life(one), secret = limits[5], window = window,
    tokens = tokens, key = one.key, payer = payer and life(payer) .. ' ' .. pays[6] or '',
    facts = ARGV[facts], answer = ''},
    math.ceil(tonumber(ends) - tonumber(now)) + REMEMBERED_S)
  if kept ~= 0 then begin_turn(kept, one.key) end
  if cursor ~= '' then
    turn = turn + 1
    turns[cursor], turned[cursor] = turn, true
  end
  touch(one)
  return {'granted', place, counts(one), turn, payer and counts(payer)}
end

-- ``generation`` as text, empty for any. The lease, or why not.
local function find(id, generation)
  local l = lease_of(id)
  if not l then return nil, {'missing'} end
  if generation ~= '' and string.match(l.facts, '^%[(%d+)') ~= generation then
    return nil, {'fenced'}
  end
  return l
end

-- Whoever granted a lease hears at the next look that another process ended or renewed it.
local function tell_granter(granter, text)
  if not granter or granter == '' then return end
  call('RPUSH', HEARD .. granter, text)
  call('EXPIRE', HEARD .. granter, HEARD_S)
end

-- End a lease: ``phase`` is what later reports meet, ``used`` the tokens charged in its window.
-- A report brings its ``answer``, the phase ``on`` which it was decided, and its turn (id, versions
-- before and after, text; or 0): all of it is kept, or nothing if the lease or the turn has moved.
-- ``granter``: who granted it, if that was another process.
function step.close(now, id, generation, phase, used, expected, record, d, on, turn, answer, granter)
  sweep(now)
  local l, why = find(id, generation)
  if not l then return why end
  local met, one = l.phase, at(l.key)
  if met == 'expired' and phase == 'released' then return {'fenced'} end
  local over = met ~= 'open' and met ~= 'expired'
  if over and (l.answer ~= '' or on == '') then
    return {met, l.key, counts(one), told(one), l.answer ~= '' and l.answer}
  end
  if on ~= '' and (on ~= met or (turn ~= 0 and moved(turn[1], turn[2]))) then
    return {'moved', l.key, counts(one), told(one), met}
  end
  local lives = one.life == l.life
  if not over and lives and not judge(one, expected, record, d) then
    return {'conflict', l.key, counts(one), told(one)}
  end
  if answer ~= 0 then call('APPEND', lease_at(id), ARGV[answer]) end
  if turn ~= 0 then keep_turn(turn[1], turn[3], turn[4]) end
  if over then return {met, l.key, counts(one), told(one), false} end
  close(member_of(l), l)
  mark(l, phase)
  tell_granter(granter, id)
  if lives then settle(one, l, used) end
  local payer = payer_of(l)
  if payer then settle(payer, l, used, true) end
  return {met, l.key, counts(one), lives, payer and counts(payer) or false}
end

function step.sweep(now)
  sweep(now)
  return {}
end

-- Candidates changed after ``since``: the sequence up to which that is all of them, each one's key,
-- counts and, if it is new, health record (JSON), and whether there are more. What one call changed
-- has one sequence, and is told of in one piece.
local function changed(since)
  local found = call('ZRANGEBYSCORE', CHANGED, '(' .. since, '+inf', 'WITHSCORES', 'LIMIT', 0, MOST_TOLD)
  local stop, more = #found, #found == 2 * MOST_TOLD
  if more and found[2] ~= found[stop] then
    local cut = found[stop]
    while found[stop] == cut do stop = stop - 2 end
  end
  local out = {}
  for i = 1, stop, 2 do
    local key = found[i]
    local h = call('HMGET', P .. ':candidate:' .. key, 'counts', 'judged')
    if not h[1] then
      call('ZREM', CHANGED, key)
    else
      local record = number(h[2]) > number(since) and call('HGET', P .. ':candidate:' .. key, 'health')
      out[#out + 1] = '[' .. cjson.encode(key) .. ',' .. h[1] .. ',' .. cjson.encode(record) .. ']'
    end
  end
  return stop > 0 and found[stop] or since, '[' .. table.concat(out, ',') .. ']', more
end

local function frame()
  local number_of, last, made_ms = string.match(call('GET', FRAME) or '', '^(%d+) (%d+) (%d+)')
  return number(number_of), last or '0', number(made_ms)
end

-- What changed comes in frames: whoever looks when the newest is ``old_ms`` old makes the next, and
-- everybody reads the same. ``known``: the number of the last one that the asker has. With them come
-- what others did to leases that ``granter`` granted, but the first ``heard``, which it knows already.
function step.look(now, known, old_ms, granter, heard)
  sweep(now)
  write_back()
  local newest, last, made_ms = frame()
  local time = call('TIME')
  local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
  if now_ms - made_ms >= old_ms or now_ms < made_ms then
    local upto, out, more = changed(last)
    if upto ~= last then
      newest, last = newest + 1, upto
      call('SET', FRAME .. ':' .. newest, out, 'PX', FRAME_KEPT_MS)
      call('SET', FRAME, string.format('%d %s %d', newest, last, more and 0 or now_ms))
    end
  end
  local first = #raw
  for i = known + 1, newest do
    local text = call('GET', FRAME .. ':' .. string.format('%d', i))
    if not text then return {'lost', call('GET', EPOCH) or ''} end
    raw[#raw + 1] = text
  end
  if known > newest then return {'lost', call('GET', EPOCH) or ''} end
  local done = ''
  if granter then
    if heard > 0 then call('LTRIM', HEARD .. granter, heard, -1) end
    done = table.concat(call('LRANGE', HEARD .. granter, 0, MOST_HEARD - 1), ' ')
  end
  return {'frames', call('GET', EPOCH) or '', newest, last, done, first, #raw - first}
end

function step.save_turn(id, before, after, text)
  if moved(id, before) then return {'stale'} end
  keep_turn(id, after, text)
  return {'saved'}
end

function step.load_turn(id)
  local t = call('HMGET', TURNS .. id, 'v', 'text', 'claim', 'key', 'on')
  return {number(t[1]), t[2] or false, t[3] or false, t[4] or false, t[5] or false}
end
