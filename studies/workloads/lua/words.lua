-- Tables of tables, strings and patterns. Prints the same every time.
--
--     lua words.lua ROUNDS
local state, sum = 1993, 0

local function chance(bound)
    state = (state * 1103515245 + 12345) % 2147483648
    return (state // 65536) % bound
end

for _ = 1, tonumber(arg[1]) do
    local words, records = {}, {}
    for n = 1, 8000 do
        local word = string.format("w%d-%d", chance(900), chance(7))
        words[word] = (words[word] or 0) + 1
        records[n] = { name = word, at = { x = chance(100), y = chance(100) }, next = records[n - 1] }
    end
    table.sort(records, function(a, b)
        if a.name ~= b.name then return a.name < b.name end
        return a.at.x * 100 + a.at.y < b.at.x * 100 + b.at.y
    end)
    local parts = {}
    for n, record in ipairs(records) do
        local first, last = record.name:match("w(%d+)%-(%d+)")
        sum = (sum * 31 + first * 7 + last + record.at.x * words[record.name]) % 1000000007
        parts[#parts + 1] = record.name .. "," .. n
    end
    sum = (sum + #table.concat(parts, ";"):gsub("%d+", "#")) % 1000000007
end
print("checksum " .. sum)
