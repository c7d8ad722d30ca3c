# Whether all variants of a program end well and print the same. The switches of the variants are between slashes,
# none for the first: cmake -D PROGRAM=P -D SCALE=N -D SWITCHES="/--naive" -P same_output.cmake

cmake_minimum_required(VERSION 3.25)
# Debian builds jemalloc to be linked or preloaded: opened later, its thread-local variables do not fit.
set(ENV{GLIBC_TUNABLES} glibc.rtld.optional_static_tls=16384)
string(REPLACE "/" ";" variants "${SWITCHES}")
list(LENGTH variants count)
if(count LESS 2)
    message(FATAL_ERROR "${PROGRAM} has no variants to compare: '${SWITCHES}'")
endif()
foreach(variant IN LISTS variants)
    separate_arguments(words UNIX_COMMAND "${variant}")
    execute_process(COMMAND ${PROGRAM} --scale ${SCALE} ${words}
        RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE failed)
    if(status EQUAL 3 AND words MATCHES "^--peer")
        message(STATUS "${failed}") # it is not installed here
        continue()
    endif()
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "${PROGRAM}${variant}: ended with ${status}\n${failed}")
    endif()
    if(NOT DEFINED expected)
        set(expected "${said}")
    endif()
    if(NOT said MATCHES "checksum [0-9a-f]+\n$" OR NOT said STREQUAL expected)
        message(FATAL_ERROR "${PROGRAM} prints\n${expected}and with${variant}\n${said}")
    endif()
endforeach()
