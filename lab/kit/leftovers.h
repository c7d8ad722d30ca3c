// Processes that go on when the program has ended.
#pragma once

namespace reap::kit {

// As the first process of a container, ends all others: asks them to, and kills them after a second. The
// kernel would kill them when we end, with what the recording does not have of them yet.
void end_leftovers();

} // namespace reap::kit
