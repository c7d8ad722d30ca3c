#pragma once

#include <vector>

// The lists of cases by name alone: whoever only names one need not compile what cases are made of.

namespace reap::test {

struct Case;
using Cases = std::vector<Case>;

void add_source_cases(Cases &cases);
void add_best_fit_cases(Cases &cases);
void add_block_cases(Cases &cases);
void add_composing_cases(Cases &cases);
void add_mempool_cases(Cases &cases);
void add_obstack_cases(Cases &cases);
void add_paper_reap_cases(Cases &cases);
void add_reap_cases(Cases &cases);
void add_region_cases(Cases &cases);
void add_region_emulator_cases(Cases &cases);
void add_stack_like_cases(Cases &cases);
void add_thread_cases(Cases &cases);

} // namespace reap::test
