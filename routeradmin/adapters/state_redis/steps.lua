-- What is asked for now and then: calls that need none of it go without (script.py).
function step.renew(now, id, generation, ends, granter)
  sweep(now)
  local l, why = find(id, generation)
  if not l then return why end
  if l.phase ~= 'open' then return {'fenced'} end
  l.ends = ends
  open(l, math.ceil(tonumber(ends) - tonumber(now)) + REMEMBERED_S)
  tell_granter(granter, id .. '=' .. ends)
  return {'renewed'}
end

function step.lease(id)
  local l = lease_of(id)
  if not l then return {'missing'} end
  return {'found', l.key, number(l.secret), l.ends, l.facts, l.phase, l.answer ~= '' and l.answer}
end

-- Slots that were granted while this store was out of reach.
function step.adopt(id, ends, key, secret, facts, window, tokens, uid)
  if call('EXISTS', lease_at(id)) == 1 then return {'known'} end
  local one, payer = at(key), uid ~= '' and at('\n' .. uid .. '\n')
  open({id = id, phase = 'open', ends = ends, life = life(one), secret = secret, window = window,
    tokens = tokens, key = key, payer = payer and life(payer) .. ' ' .. uid or '',
    facts = ARGV[facts], answer = ''}, 2 * REMEMBERED_S)
  if payer then
    payer.f[1] = payer.f[1] + 1
    touch(payer)
  end
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

-- The same of an API key's tokens of a day.
function step.charge_day(key, day, tokens, more)
  local one = at(key)
  local f = one.f
  if f[7] > day then return {'past'} end
  if f[7] ~= day then f[7], f[8] = day, 0 end
  life(one)
  f[8] = math.max(0, math.max(f[8], tokens) + more)
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

-- Whoever kept something of it is told at once: a frame made before may still tell of it.
function step.forget(key)
  local was = call('DEL', at(key).c)
  call('ZREM', CHANGED, key)
  seen[key], touched[key] = nil, nil
  local gone_at = call('INCR', SEQ)
  seq = nil -- what changes later in this call is news
  if was == 1 then call('PUBLISH', PUSH, cjson.encode({'forgotten', key, gone_at})) end
  return {'forgotten', gone_at}
end

function step.drop_cursor(name)
  turns[name], turned[name] = nil, nil
  return {call('HDEL', CURSORS, name)}
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

function step.known()
  write_back()
  return {call('ZRANGE', CHANGED, 0, -1), call('HKEYS', CURSORS)}
end

-- A turn from memory: another process may know a later state of it.
function step.offer_turn(id, version, text, claim, key)
  if number(call('HGET', TURNS .. id, 'v')) >= version then return {'known'} end
  keep_turn(id, version, text)
  if claim ~= '' then call('HSET', TURNS .. id, 'claim', claim, 'key', key) end
  return {'kept'}
end

local SESSIONS, SESSION_ENDS, MOST_SESSIONS = P .. ':sessions', P .. ':sessions:ends', 100000

-- Where sessions are bound; of too many those go that end first.
function step.bind(now, name, ends, text)
  if number(call('ZSCORE', SESSION_ENDS, name)) > tonumber(ends) then return {'known'} end
  call('HSET', SESSIONS, name, ARGV[text])
  call('ZADD', SESSION_ENDS, ends, name)
  local over = call('ZRANGEBYSCORE', SESSION_ENDS, '-inf', now, 'LIMIT', 0, MOST_DUE)
  local more = call('ZCARD', SESSION_ENDS) - #over - MOST_SESSIONS
  if more > 0 then over = call('ZRANGE', SESSION_ENDS, 0, #over + more - 1) end
  if #over > 0 then
    call('HDEL', SESSIONS, unpack(over))
    call('ZREM', SESSION_ENDS, unpack(over))
  end
  return {'bound'}
end

function step.bound(names)
  return call('HMGET', SESSIONS, unpack(names))
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
