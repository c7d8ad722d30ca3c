# The module compiled by clang directly, since the CMake at hand may be too old to, and a program that imports it.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

find_program(CLANG NAMES clang++-19 clang++ REQUIRED)
set(flags -std=c++20 -Wall -Wextra -Wpedantic -Werror -Wno-deprecated-declarations)
run(${CLANG} ${flags} -I${ROOT}/library/include --precompile ${ROOT}/library/src/module/reap.cppm -o ${WORK}/reap.pcm)
run(${CLANG} ${WORK}/reap.pcm -c -o ${WORK}/reap.o)
run(${CLANG} ${flags} -fmodule-file=reap=${WORK}/reap.pcm ${CMAKE_CURRENT_LIST_DIR}/importer.cpp ${WORK}/reap.o
    -o ${WORK}/importer)
run(${WORK}/importer)
