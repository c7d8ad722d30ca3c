//! Nothing of its own: what the build of libmimalloc-sys leaves is linked into C++ programs.
