/* The C face, used from C: expectations that do not hold are printed, and counted in the exit status. */

#include "c_test.h"

#include <errno.h>
#include <string.h>

#include "reap/face/c.h"

unsigned failures = 0;

static void test_common(void) {
    EXPECT(strcmp(reap_version(), REAP_VERSION) == 0);
#if REAP_CHECKED
    EXPECT(reap_is_checked());
#endif
}

int main(void) {
    test_common();
    test_region();
    test_reap();
    test_reap2002();
    test_layers();
    test_json();
    printf("%u failures\n", failures);
    return failures != 0;
}
