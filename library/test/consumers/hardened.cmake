# libreap in hardened mode, by the options that the documents name.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

consume(library-hardened ${ROOT} reap -DBUILD_TESTING=OFF -DREAP_HARDENED=ON -DREAP_QUARANTINE=4)
file(GLOB_RECURSE library ${WORK}/library-hardened/libreap.a)
run(nm ${library})
if(NOT said MATCHES "v0_hardened_4" OR said MATCHES "v04Reap")
    message(FATAL_ERROR "libreap.a is not in hardened mode with four blocks in quarantine")
endif()
run(${CC} -std=c11 -I${ROOT}/library/include ${CMAKE_CURRENT_LIST_DIR}/double_free.c ${library} -lstdc++ -lm -pthread
    -o ${WORK}/double_free)
run(${WORK}/double_free)

execute_process(COMMAND ${CMAKE_COMMAND} -S ${ROOT} -B ${WORK}/library-both -G ${GENERATOR} -DBUILD_TESTING=OFF
    -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX} -DREAP_HARDENED=ON -DREAP_CHECKED=ON
    OUTPUT_QUIET ERROR_VARIABLE said RESULT_VARIABLE status)
if(status EQUAL 0 OR NOT said MATCHES "exclude each other")
    message(FATAL_ERROR "two modes at once are not refused:\n${said}")
endif()
