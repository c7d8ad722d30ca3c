#pragma once

/// A library that the program needs, and whose constructors run before a preloaded library's do: it says what
/// it wants done before each fork() as early as anybody can. Null is nothing.
extern void (*before_fork)();
