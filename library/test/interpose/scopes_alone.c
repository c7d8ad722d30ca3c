/* Scopes in a program of C that another malloc serves: they do nothing. */
#include <stdlib.h>

#include "reap/interpose/scope.h"

int main(void) {
    const size_t scope = reap_scope_open();
    const int before = reap_scope_leave(1);
    free(malloc(100));
    (void)reap_scope_leave(before);
    reap_scope_close(scope);
    return scope == 0 && before == 1 ? 0 : 1;
}
