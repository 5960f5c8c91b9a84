-- Sends prepared requests and prints what wrk measured as one line of JSON.
--
-- wrk ... -s buckets.lua URL -- FILE THREADS
-- FILE has a line for each request: method, path, headers ("Name: value" joined by \31) and body, with tabs
-- between. Each thread prepares the bytes of its share before the clock starts; there is no response(), which
-- would copy every body into Lua.

local threads = 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(args)
  local file, of = args[1], tonumber(args[2])
  prepared, at = {}, 0
  local line_number = 0
  for line in io.lines(file) do
    if line_number % of == number then
      local method, path, head, body = line:match("^([^\t]*)\t([^\t]*)\t([^\t]*)\t(.*)$")
      local headers = {}
      for name, value in head:gmatch("([^:\31]+): ([^\31]*)") do
        headers[name] = value
      end
      if body == "" then body = nil end
      prepared[#prepared + 1] = wrk.format(method, path, headers, body)
    end
    line_number = line_number + 1
  end
  if #prepared == 0 then error(file .. " has fewer requests than there are threads") end
end

function request()
  at = at % #prepared + 1
  return prepared[at]
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\nMEASURED {"duration_us": %d, "answers": %d, "bytes": %.0f, "connect": %d, "read": %d, "write": %d, ' ..
    '"status": %d, "timeout": %d, "mean_us": %.3f, "stdev_us": %.3f, "p50_us": %.0f, "p99_us": %.0f, ' ..
    '"max_us": %.0f}\n',
    summary.duration, summary.requests, summary.bytes, errors.connect, errors.read, errors.write,
    errors.status, errors.timeout, latency.mean, latency.stdev, latency:percentile(50),
    latency:percentile(99), latency.max))
end
