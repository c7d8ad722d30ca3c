// The C library's sigaction, bypassing the recorder's, which timer_sampler.cpp has.
#pragma once

#include <csignal>

#include "next.h"

namespace reap::preload {

extern Next<int(int, const struct sigaction *, struct sigaction *)> real_sigaction;

} // namespace reap::preload
