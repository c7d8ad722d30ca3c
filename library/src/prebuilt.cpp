// The code of the default layers, for programs that link Reap::prebuilt instead of compiling it.
#define REAP_EXTERN
#include "reap/layer/reap.h"
#include "reap/layer/region.h"

#if !REAP_PREBUILT
#error "Reap::prebuilt has no such mode: see REAP_PREBUILT in reap/core/mode.h."
#endif
