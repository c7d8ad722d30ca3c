// Runs at the start of a measured Node.js, named by NODE_OPTIONS: writes how often and how long V8 collects.
//
// Nothing is printed, nothing keeps the program alive, and its lists of listeners are as they were. Whatever goes
// wrong, then or later (the folder is gone, or its user may not write there), the program goes on as it would have:
// an older Node.js than 18.15 has no GCProfiler, and is not heard. What it writes, a file for each thread of each
// process, `reap.evidence.analyse.collectors` reads: lines of collections, and microseconds that they stopped their thread,
// of which the last counts.
'use strict';

try {
  const { appendFileSync } = require('fs');
  const path = require('path');
  const { GCProfiler, startupSnapshot } = require('v8');
  const { threadId } = require('worker_threads');
  const profiler = new GCProfiler();
  const target = path.join(process.env.REAP_COLLECTIONS, `v8-${process.pid}-${threadId}`);
  delete require.cache[__filename]; // which a program may list
  const seen = { count: 0, microseconds: 0 };

  // Each collection is kept in memory until the profiler stops, so that it is emptied now and then; and a program
  // that is killed loses no more than what its thread did since then, if that came to its timers.
  const empty = () => {
    try {
      for (const each of profiler.stop().statistics) {
        seen.count += /Scavenge|Compact/.test(each.gcType) ? 1 : 0;
        seen.microseconds += each.cost;
      }
      appendFileSync(target, `${seen.count} ${Math.round(seen.microseconds)}\n`, { mode: 0o600 });
    } catch (_) {
      // The program is what matters.
    }
  };

  // A listener would count among the ten that a program may have before it is warned.
  const heard = (emit) =>
    function (event) {
      if (event === 'exit') empty();
      return Reflect.apply(emit || Object.getPrototypeOf(process).emit, this, arguments);
    };

  if (!startupSnapshot.isBuildingSnapshot()) {
    profiler.start();
    setInterval(() => {
      empty();
      profiler.start();
    }, 500).unref();
    const own = Object.getOwnPropertyDescriptor(process, 'emit');
    const value = heard(own && own.value);
    Object.defineProperty(process, 'emit', { value, writable: true, configurable: true });
  }
} catch (_) {
  // The program is what matters.
}
