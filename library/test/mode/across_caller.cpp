#include "across.h"

int main() {
    reap::Region region;
    return region.owns(allocate_across(region)) ? 0 : 1;
}
