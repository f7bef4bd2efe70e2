-- What requests ask for all the time; behind candidates.lua.
local function turn_of(cursor)
  if cursor == '' then return 0 end
  if not turns[cursor] then turns[cursor] = number(call('HGET', CURSORS, cursor)) end
  return turns[cursor]
end

local step = {}

-- One slot on the candidate whose turn it is; the ring holds part of the tier's free candidates.
function step.reserve(now, ends, window, tokens, id, facts, cursor, first, total, ring)
  sweep(now)
  ring = rings[ring + 1]
  local turn = turn_of(cursor)
  local place = (turn % total - first) % total
  if place >= #ring then return {'moved', turn} end
  local limits = ring[place + 1]
  local one = at(limits[1])
  local f = one.f
  roll(one, window)
  if full(f, limits, tokens) then return {'full', place, counts(one), turn} end
  f[1], f[3], f[4] = f[1] + 1, f[3] + 1, f[4] + tokens
  open({id = id, phase = 'open', ends = ends, life = life(one), secret = limits[5], window = window,
    tokens = tokens, key = one.key, facts = ARGV[facts], answer = ''},
    math.ceil(tonumber(ends) - tonumber(now)) + REMEMBERED_S)
  if cursor ~= '' then
    turn = turn + 1
    turns[cursor], turned[cursor] = turn, true
  end
  touch(one)
  return {'granted', place, counts(one), turn}
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

-- End a lease: ``phase`` is what later reports meet, ``used`` the tokens charged in its window.
function step.close(now, id, generation, phase, used, expected, record, d)
  sweep(now)
  local l, why = find(id, generation)
  if not l then return why end
  local met, one = l.phase, at(l.key)
  if met == 'expired' and phase == 'released' then return {'fenced'} end
  if met ~= 'open' and met ~= 'expired' then
    return {met, l.key, counts(one), told(one), l.answer ~= '' and l.answer}
  end
  local lives = one.life == l.life
  if lives and not judge(one, expected, record, d) then
    return {'conflict', l.key, counts(one), told(one)}
  end
  close(member_of(l))
  mark(l, phase)
  if lives then
    local f = one.f
    if f[2] == tonumber(l.window) then f[4] = math.max(0, f[4] - tonumber(l.tokens) + used) end
    touch(one)
  end
  return {met, l.key, counts(one), lives}
end

function step.answer(id, text)
  local l = lease_of(id)
  if not l then return {'missing'} end
  if l.answer == '' then call('APPEND', lease_at(id), ARGV[text]) end
  return {'kept'}
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
-- everybody reads the same. ``known``: the number of the last one that the asker has.
function step.look(now, known, old_ms)
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
  return {'frames', call('GET', EPOCH) or '', newest, last, false, first, #raw - first}
end

function step.save_turn(id, text)
  call('SET', TURNS .. id, ARGV[text], 'EX', REMEMBERED_S)
  return {}
end

function step.load_turn(id)
  return {call('GET', TURNS .. id) or false}
end
