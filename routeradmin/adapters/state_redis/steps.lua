-- What can be asked for; runs behind candidates.lua, as one script.
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

function step.renew(now, id, generation, ends)
  sweep(now)
  local l, why = find(id, generation)
  if not l then return why end
  if l.phase ~= 'open' then return {'fenced'} end
  l.ends = ends
  open(l, math.ceil(tonumber(ends) - tonumber(now)) + REMEMBERED_S)
  return {'renewed'}
end

function step.lease(id)
  local l = lease_of(id)
  if not l then return {'missing'} end
  return {'found', l.key, number(l.secret), l.ends, l.facts, l.phase, l.answer ~= '' and l.answer}
end

function step.answer(id, text)
  local l = lease_of(id)
  if not l then return {'missing'} end
  if l.answer == '' then call('APPEND', lease_at(id), ARGV[text]) end
  return {'kept'}
end

-- Slots that were granted while this store was out of reach.
function step.adopt(id, ends, key, secret, facts, window, tokens)
  if call('EXISTS', lease_at(id)) == 1 then return {'known'} end
  local one = at(key)
  open({id = id, phase = 'open', ends = ends, life = life(one), secret = secret, window = window,
    tokens = tokens, key = key, facts = ARGV[facts], answer = ''}, 2 * REMEMBERED_S)
  one.f[1] = one.f[1] + 1
  touch(one)
  return {'adopted'}
end

-- ``rpm`` and ``tpm`` had been charged before, whether Redis remembers or not; the rest is new.
function step.charge(key, window, rpm, tpm, more_rpm, more_tpm)
  local one = at(key)
  local f = one.f
  if f[2] > window then return {'past'} end
  roll(one, window)
  life(one)
  f[3] = math.max(f[3], rpm) + more_rpm
  f[4] = math.max(0, math.max(f[4], tpm) + more_tpm)
  touch(one)
  return {'charged'}
end

-- Health alone: people, probes, ends of cooldowns. ``fence``: only while that leader leads.
function step.commit(key, expected, record, d, fence)
  local one = at(key)
  if fence ~= '' and call('GET', LEADER) ~= fence then
    return {'deposed', counts(one), told(one)}
  end
  life(one)
  if not judge(one, expected, record, d) then
    return {'conflict', counts(one), told(one)}
  end
  touch(one)
  return {'kept', counts(one)}
end

function step.forget(key)
  call('DEL', at(key).c)
  call('ZREM', CHANGED, key)
  seen[key], touched[key] = nil, nil
  return {'forgotten'}
end

function step.drop_cursor(name)
  turns[name], turned[name] = nil, nil
  return {call('HDEL', CURSORS, name)}
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

-- For whoever comes or was away: what changed after ``since``, straight from the candidates.
function step.poll(now, since, epoch)
  sweep(now)
  write_back()
  if epoch ~= '' then call('SET', EPOCH, epoch, 'NX') end
  local last, out, more = changed(since)
  raw[#raw + 1] = out
  return {'frames', call('GET', EPOCH) or '', (frame()), last, more, #raw - 1, 1}
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

function step.known()
  write_back()
  return {call('ZRANGE', CHANGED, 0, -1), call('HKEYS', CURSORS)}
end

function step.save_turn(id, text)
  call('SET', TURNS .. id, ARGV[text], 'EX', REMEMBERED_S)
  return {}
end

-- A turn from memory: another process may know a later state of it.
function step.offer_turn(id, text)
  local kept = call('GET', TURNS .. id)
  if kept and number(string.match(kept, '^%[([%d.]+)')) >= number(string.match(ARGV[text], '^%[([%d.]+)')) then
    return {'known'}
  end
  return step.save_turn(id, text)
end

function step.load_turn(id)
  return {call('GET', TURNS .. id) or false}
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
write_back()
if #raw == 0 then return cjson.encode(answers) end
return {cjson.encode(answers), unpack(raw)}
