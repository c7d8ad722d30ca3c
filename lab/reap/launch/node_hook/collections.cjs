// Runs at the start of a measured Node.js, named by NODE_OPTIONS: writes how often and how long V8 collects.
//
// Nothing is printed, and nothing keeps the program alive. Whatever goes wrong, the program starts as it would
// have: an older Node.js than 18.15 has no GCProfiler, and is not heard. What it writes, a file for each thread of
// each process, `reap.analysis.collectors` reads: collections, and microseconds that they stopped their thread.
'use strict';

try {
  const fs = require('fs');
  const path = require('path');
  const { GCProfiler } = require('v8');
  const { threadId } = require('worker_threads');
  const profiler = new GCProfiler();
  const target = path.join(process.env.REAP_COLLECTIONS, `v8-${process.pid}-${threadId}`);
  const seen = { count: 0, microseconds: 0 };

  // Each collection is kept in memory until the profiler stops, so that it is emptied now and then; and a program
  // that is killed loses no more than that.
  const empty = () => {
    for (const each of profiler.stop().statistics) {
      seen.count += /Scavenge|Compact/.test(each.gcType) ? 1 : 0;
      seen.microseconds += each.cost;
    }
    fs.writeFileSync(target, `${seen.count} ${Math.round(seen.microseconds)}\n`, { mode: 0o600 });
  };

  profiler.start();
  setInterval(() => {
    empty();
    profiler.start();
  }, 500).unref();
  process.once('exit', empty);
} catch {
  // The program is what matters.
}
