#pragma once

#include "reap/layer/region.h"

/// Defined in one translation unit and called in another, which may have been built with other settings.
void *allocate_across(reap::Region<> &region);
