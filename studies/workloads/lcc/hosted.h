/* What the sources of lcc use of the C library, declared for a 32-bit target: the same text on every machine.
 */
#ifndef HOSTED_H
#define HOSTED_H
#define NULL ((void *)0)
#define EOF (-1)
#define assert(condition) ((condition) ? (void)0 : abort())
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define ERANGE 34
#define CHAR_BIT 8
#define SHRT_MAX 32767
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define LONG_MAX 2147483647L
#define LONG_MIN (-2147483647L - 1)
#define ULONG_MAX 4294967295UL
#define FLT_MAX 3.40282346638528859812e+38F
#define DBL_MAX 1.79769313486231570815e+308
#define LDBL_MAX 1.79769313486231570815e+308L
typedef unsigned int size_t;
typedef long time_t;
typedef struct stream FILE;
extern FILE *stdin, *stdout, *stderr;
extern int errno;
typedef char *va_list;
#define va_start(list, last) ((list) = (char *)(&(last) + 1))
#define va_arg(list, type) (*(type *)(((list) += sizeof(type)) - sizeof(type)))
#define va_end(list) ((void)(list))
extern void abort(void), exit(int), free(void *);
extern void *malloc(size_t), *memcpy(void *, const void *, size_t), *memset(void *, int, size_t);
extern void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
extern int atoi(const char *), isupper(int), isdigit(int), isalnum(int);
extern long strtol(const char *, char **, int);
extern double strtod(const char *, char **);
extern char *strchr(const char *, int), *strrchr(const char *, int), *strstr(const char *, const char *);
extern char *strcpy(char *, const char *), *strncpy(char *, const char *, size_t),
    *strcat(char *, const char *);
extern char *getenv(const char *), *fgets(char *, int, FILE *), *ctime(const time_t *);
extern int strcmp(const char *, const char *), strncmp(const char *, const char *, size_t);
extern size_t strlen(const char *), fread(void *, size_t, size_t, FILE *);
extern size_t fwrite(const void *, size_t, size_t, FILE *);
extern FILE *fopen(const char *, const char *), *freopen(const char *, const char *, FILE *);
extern int fclose(FILE *), feof(FILE *), fflush(FILE *), getc(FILE *), putc(int, FILE *), putchar(int);
extern int fputs(const char *, FILE *), fprintf(FILE *, const char *, ...), printf(const char *, ...);
extern int sprintf(char *, const char *, ...), sscanf(const char *, const char *, ...);
extern time_t time(time_t *);
#endif
