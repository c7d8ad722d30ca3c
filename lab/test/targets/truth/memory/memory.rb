# Request threads that make and drop strings, and keep some: MODE [SCALE [cured]]. It then idles for longer.
require "fiddle"

start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
scale = (ARGV[1] || "1").to_f
kept = Queue.new
4.times do |round|
  Array.new(16) { |number|
    Thread.new do
      random = Random.new(round * 100 + number)
      4.times do |turn|
        rows = Array.new((2000 * scale).to_i + 10) { "x" * (200 + random.rand(3000)) }
        kept << rows.sample(10, random: random) if turn == 3
        sleep 0.002
      end
    end
  }.each(&:join)
  GC.start
end
puts kept.size
STDOUT.flush
Fiddle::Function.new(Fiddle::Handle::DEFAULT["malloc_trim"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_INT).call(0) if ARGV[2] == "cured"
sleep 2 * (Process.clock_gettime(Process::CLOCK_MONOTONIC) - start) + 3 * scale
