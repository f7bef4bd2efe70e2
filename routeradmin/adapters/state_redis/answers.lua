-- The end of every script: each step in turn, then what changed is written back.
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
