/* The layers for C, compiled into libreap: one header each, all of them included here.
 * reap/face/c/reap2002.h, another API of the reap, is included separately. */
#ifndef REAP_FACE_C_H
#define REAP_FACE_C_H

#include "reap/face/c/common.h"
#include "reap/face/c/fixed_block.h"
#include "reap/face/c/mempool.h"
#include "reap/face/c/obstack.h"
#include "reap/face/c/reap.h"
#include "reap/face/c/region.h"
#include "reap/face/c/size_classes.h"
#include "reap/face/c/stack.h"

#endif
