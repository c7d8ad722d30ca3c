// What a probe costs the process that meets it.
#pragma once

namespace reap::native {

struct ProbeCost {
    double emulated_ns = 0; // of a call whose first instruction the kernel emulates
    double stepped_ns = 0;  // and of any other
    double sample_ns = 0;   // of one that is sampled, in addition
};

// Measured on functions of this process. Takes some 0.3 s. Throws AttachFailure.
ProbeCost measure_probe_cost();

} // namespace reap::native
