-- What is asked for now and then: calls that need none of it go without (script.py).
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
function step.offer_turn(id, text)
  local kept = call('GET', TURNS .. id)
  if kept and number(string.match(kept, '^%[([%d.]+)')) >= number(string.match(ARGV[text], '^%[([%d.]+)')) then
    return {'known'}
  end
  return step.save_turn(id, text)
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
