/* Objects of 2 to 250 KB that are replaced at random take little more than their bytes: once they took 1.7
 * times what glibc's malloc takes. */
#include "bugs.h"

enum { live = 500, smallest = 2000, largest = 250000, turns = 20000, page = 4096 };

static char *objects[live];
static size_t sizes[live];

int main(void) {
    unsigned long random = 1;
    size_t bytes = 0;
    size_t most = 0;
    for (size_t turn = 0; turn < turns; ++turn) {
        random = random * 6364136223846793005UL + 1442695040888963407UL;
        const size_t at = (random >> 33) % live;
        free(objects[at]);
        const size_t size = smallest + (random >> 40) % (largest - smallest);
        objects[at] = malloc(size);
        if (objects[at] == NULL) return 1;
        for (size_t byte = 0; byte < size; byte += page) objects[at][byte] = 1;
        bytes += size - sizes[at];
        sizes[at] = size;
        if (bytes > most) most = bytes;
    }
    const size_t peak = status_kb("VmHWM");
    printf("peak %zu KB, of %zu KB that lived\n", peak, most / 1024);
    expect(peak < most / 1024 * 5 / 4 + 8UL * 1024, "the peak is within a quarter of what lived");
    return failures;
}
