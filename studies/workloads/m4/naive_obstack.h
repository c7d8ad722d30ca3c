// naive_obstack.h: the interface of <obstack.h>, as far as GNU m4 uses it, with a malloc for each object.
//
// It is included before each of m4's files, and takes the place of <obstack.h> by its include guard. An
// object grows in a buffer that the obstack keeps; when it is finished, it is copied to a block of its own
// size. The blocks are kept in an array outside the objects, so that nothing but the program accesses these
// (the region emulator of OOPSLA 2002, section 3.1). Freeing an object frees those that were made after it,
// too, the newest first.
#ifndef _OBSTACK_H
#define _OBSTACK_H 1
#define _OBSTACK_INTERFACE_VERSION 1 // that of the C library: m4's own obstack.c compiles to nothing

#include <stdlib.h>
#include <string.h>

struct obstack {
    char *buffer; // of the object that grows
    size_t size, room;
    void **objects;
    size_t count, space;
    void *marker; // an object that stands for a position: freeing it frees what comes after it, and keeps it
};

static inline void *obstack_sure(void *block) {
    if (block == NULL) abort();
    return block;
}

static inline void obstack_init_(struct obstack *h) { memset(h, 0, sizeof *h); }

static inline void obstack_need(struct obstack *h, size_t more) {
    if (h->size + more <= h->room) return;
    h->room = 2 * h->room + more + 64;
    h->buffer = (char *)obstack_sure(realloc(h->buffer, h->room));
}

static inline void obstack_grow_(struct obstack *h, const void *text, size_t length) {
    obstack_need(h, length);
    memcpy(h->buffer + h->size, text, length);
    h->size += length;
}

static inline void obstack_1grow_(struct obstack *h, char letter) {
    obstack_need(h, 1);
    h->buffer[h->size++] = letter;
}

static inline void obstack_blank_(struct obstack *h, size_t length) {
    obstack_need(h, length);
    h->size += length;
}

static inline void *obstack_new_(struct obstack *h, size_t size) {
    if (h->count == h->space) {
        h->space = 2 * h->space + 16;
        h->objects = (void **)obstack_sure(realloc(h->objects, h->space * sizeof *h->objects));
    }
    return h->objects[h->count++] = obstack_sure(malloc(size ? size : 1));
}

static inline void *obstack_finish_(struct obstack *h) {
    void *made = obstack_new_(h, h->size);
    if (h->size) memcpy(made, h->buffer, h->size);
    h->size = 0;
    return made;
}

static inline void *obstack_copy_(struct obstack *h, const void *text, size_t length, int ended) {
    char *made = (char *)obstack_new_(h, length + (size_t)ended);
    memcpy(made, text, length);
    if (ended) made[length] = '\0';
    return made;
}

// Of an object that has not begun to grow, m4 takes this as the position to which it frees later.
static inline void *obstack_base_(struct obstack *h) {
    if (h->size) return h->buffer;
    if (h->marker == NULL) h->marker = obstack_new_(h, 1);
    return h->marker;
}

static inline void obstack_free_(struct obstack *h, void *object) {
    h->size = 0;
    while (h->count && h->objects[h->count - 1] != object) free(h->objects[--h->count]);
    if (object == NULL) {
        free(h->objects);
        free(h->buffer);
        obstack_init_(h);
    } else if (h->count == 0) {
        abort(); // it is none of its objects
    } else if (object != h->marker) {
        free(h->objects[--h->count]);
    }
}

#define obstack_init(h) obstack_init_(h)
#define obstack_begin(h, size) obstack_init_(h)
#define obstack_grow(h, text, length) obstack_grow_(h, text, length)
#define obstack_grow0(h, text, length) (obstack_grow_(h, text, length), obstack_1grow_(h, '\0'))
#define obstack_1grow(h, letter) obstack_1grow_(h, (char)(letter))
#define obstack_1grow_fast(h, letter) obstack_1grow_(h, (char)(letter))
#define obstack_ptr_grow(h, pointer)                                                                         \
    do {                                                                                                     \
        const void *obstack_kept = (pointer);                                                                \
        obstack_grow_(h, &obstack_kept, sizeof(void *));                                                     \
    } while (0)
#define obstack_blank(h, length) obstack_blank_(h, (size_t)(length))
#define obstack_blank_fast(h, length) ((void)((h)->size += (size_t)(length)))
#define obstack_alloc(h, size) obstack_new_(h, size)
#define obstack_copy(h, text, length) obstack_copy_(h, text, length, 0)
#define obstack_copy0(h, text, length) obstack_copy_(h, text, length, 1)
#define obstack_finish(h) obstack_finish_(h)
#define obstack_free(h, object) obstack_free_(h, (void *)(object))
#define obstack_base(h) obstack_base_(h)
#define obstack_next_free(h) ((void *)((h)->buffer + (h)->size))
#define obstack_object_size(h) ((h)->size)
#define obstack_room(h) ((h)->room - (h)->size)

#endif
