/* mod_bc: bc in Apache httpd. The body of a request is a program of bc, the answer what it prints.
 *
 * As in section 7.5 of OOPSLA 2002 (Berger, Zorn, McKinley) its malloc and free are apr_palloc() and
 * ap_pfree(), in a pool of the request: what it does not free itself ends with the request. APR's own pools
 * have no ap_pfree(); with them nothing is freed before.
 *
 * bc keeps what it knows in variables that nothing sets back. So a process of the server runs one program,
 * and says 503 to a second one: it needs `MaxConnectionsPerChild 1`, and a server without threads.
 *
 * `?memory` has it tell in a header what the program took; `?keep` lets it free nothing. */
#include <httpd.h>

#include <ap_mpm.h>
#include <apr_pools.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_log.h>
#include <http_protocol.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What only pools made of reaps have. */
void ap_pfree(apr_pool_t *pool, void *object) __attribute__((weak));
apr_size_t apr_pool_num_bytes(apr_pool_t *pool, int recurse) __attribute__((weak));

FILE *bc_input, *bc_output;
void *bc_allocate(size_t size);
void bc_free(void *object);
char *bc_duplicate(const char *text);
void bc_leave(int status) __attribute__((noreturn));
int bc_isatty(int file);
ssize_t bc_read(int file, void *room, size_t size);
int bc_main(int count, char **words);

enum { LARGEST_PROGRAM = 64 << 10 };

static apr_pool_t *memory;
static int frees;
static unsigned long allocated, asked_bytes, freed;
static jmp_buf end;

void *bc_allocate(size_t size) {
    ++allocated;
    asked_bytes += size;
    return apr_palloc(memory, size);
}

void bc_free(void *object) {
    if (!frees || object == NULL) return;
    ++freed;
    ap_pfree(memory, object);
}

char *bc_duplicate(const char *text) { return strcpy(bc_allocate(strlen(text) + 1), text); }

/* Never 0 for longjmp(), whatever bc ends with. */
void bc_leave(int status) { longjmp(end, status == 0 ? 1 : 2); }

int bc_isatty(int file) {
    (void)file;
    return 0;
}

/* What its scanner reads with: the program has no number as a file. */
ssize_t bc_read(int file, void *room, size_t size) {
    (void)file;
    return (ssize_t)fread(room, 1, size, bc_input);
}

/* Bytes of memory that the process has in use; 0 if the system does not say. */
static unsigned long resident(void) {
    unsigned long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
    fclose(file);
    return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

/* The body, with a zero behind it; null if it is too long or does not come. */
static char *program_of(request_rec *request) {
    char *const text = apr_palloc(request->pool, LARGEST_PROGRAM + 1);
    long length = 0, more = 0;
    if (ap_setup_client_block(request, REQUEST_CHUNKED_ERROR) != OK || !ap_should_client_block(request))
        return NULL;
    while ((more = ap_get_client_block(request, text + length, (apr_size_t)(LARGEST_PROGRAM - length))) > 0) {
        length += more;
        if (length == LARGEST_PROGRAM) return NULL;
    }
    text[length] = 0;
    return more < 0 ? NULL : text;
}

static int answer(request_rec *request) {
    static int ran;
    if (request->handler == NULL || strcmp(request->handler, "bc") != 0) return DECLINED;
    if (request->method_number != M_POST) return HTTP_METHOD_NOT_ALLOWED;
    char *const program = program_of(request);
    if (program == NULL) return HTTP_BAD_REQUEST;
    if (ran) return HTTP_SERVICE_UNAVAILABLE;
    ran = 1;

    const char *const asked = request->args != NULL ? request->args : "";
    char *printed = NULL;
    size_t length = 0;
    bc_input = fmemopen(program, strlen(program), "r");
    bc_output = open_memstream(&printed, &length);
    if (bc_input == NULL || bc_output == NULL) return HTTP_INTERNAL_SERVER_ERROR;
    apr_pool_create(&memory, request->pool);
    frees = ap_pfree != NULL && strstr(asked, "keep") == NULL;
    const unsigned long before = resident();

    char *words[] = {"bc", "-q", NULL};
    if (setjmp(end) == 0) bc_main(2, words);

    const unsigned long after = resident();
    fclose(bc_output);
    if (strstr(asked, "memory") != NULL) {
        const apr_size_t pool = apr_pool_num_bytes != NULL ? apr_pool_num_bytes(memory, 0) : 0;
        apr_table_setn(request->headers_out, "X-Memory",
                       apr_psprintf(request->pool,
                                    "{\"pool\": %lu, \"resident\": %ld, \"objects\": %lu, "
                                    "\"asked\": %lu, \"freed\": %lu}",
                                    (unsigned long)pool, (long)(after - before), allocated, asked_bytes,
                                    freed));
    }
    ap_set_content_type(request, "text/plain");
    ap_rwrite(printed, (int)length, request);
    free(printed);
    apr_pool_destroy(memory);
    return OK;
}

static int check(apr_pool_t *pool, apr_pool_t *log, apr_pool_t *scratch, server_rec *server) {
    int threads = 0;
    (void)pool, (void)log, (void)scratch;
    if (ap_mpm_query(AP_MPMQ_IS_THREADED, &threads) == APR_SUCCESS && threads == AP_MPMQ_NOT_SUPPORTED)
        return OK;
    ap_log_error(APLOG_MARK, APLOG_CRIT, 0, server, "mod_bc: bc knows no threads; load mpm_prefork");
    return HTTP_INTERNAL_SERVER_ERROR;
}

static void hooks(apr_pool_t *pool) {
    (void)pool;
    ap_hook_post_config(check, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(answer, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(bc) = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, hooks, 0};
