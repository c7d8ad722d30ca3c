// Processes that go on when the program has ended.
#pragma once

namespace reap::kit {

// Ends all others, as the first process of a container: asks them to, and kills them after a second. The
// kernel would kill them when we end, with what the recording does not have of them yet.
void end_leftovers();

} // namespace reap::kit
