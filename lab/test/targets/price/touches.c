/* Allocates so many MB in blocks of 1000 bytes, and writes to each: touches MB. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    const long blocks = count > 1 ? atol(words[1]) * 1024 : 1024;
    unsigned long sum = 0;
    for (long i = 0; i < blocks; ++i) {
        char *const block = malloc(1000);
        block[0] = (char)i;
        sum += (unsigned char)block[0];
    }
    printf("%lu\n", sum);
    return 0;
}
