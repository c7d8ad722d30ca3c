// A preload that turns transparent huge pages off for its process, whatever it asks for by madvise.
#include <sys/prctl.h>

__attribute__((constructor)) static void begin(void) { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
