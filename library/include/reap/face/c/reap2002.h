/* The five calls of "Reconsidering Custom Memory Allocation" (Berger, Zorn and McKinley, OOPSLA 2002, section
 * 5), over the reap of reap/face/c/reap.h. For programs written to that paper; that header has more:
 * alignments, sized deallocation, limits, marks.
 *
 * The paper gives the signatures. What it leaves open is decided here:
 *
 * - A reap is told by a variable of the caller's, of type void *, which is null while there is no reap. Only
 *   reapCreate() and reapDestroy() write it, so copies of it will do as well.
 * - There is no parent if `parent` or *parent is null.
 * - A reap ends with its parent, when that one is destroyed or cleared, its own children first. Its variable
 *   is not told, and must not be used any more.
 * - reapCreate() leaves *reap null if it fails, with errno ENOMEM.
 * - reapDestroy() sets *reap to null. It, reapFreeAll() and reapFree() do nothing where `reap` or *reap is
 *   null; reapFree() does nothing for a null object.
 * - reapMalloc() gives memory aligned to 16, also for 0 bytes; null if it fails, with errno ENOMEM, or with
 *   EINVAL where `reap` or *reap is null.
 * - Like every handle here, a reap and those nested in it are for one thread at a time.
 */
#ifndef REAP_FACE_C_REAP2002_H
#define REAP_FACE_C_REAP2002_H

#include "reap/face/c/common.h"

#ifdef __cplusplus
extern "C" {
#endif

REAP_API void reapCreate(void **reap, void **parent);
REAP_API void reapDestroy(void **reap);
/* Frees all objects, and ends nested reaps; chunks are kept to be used again. */
REAP_API void reapFreeAll(void **reap);
REAP_API void *reapMalloc(void **reap, size_t size);
REAP_API void reapFree(void **reap, void *object);

#ifdef __cplusplus
}
#endif

#endif
