# How test programs are compiled: for a short build. What is timed or counted is compiled as users have it.
set(REAP_GOOGLETEST "" CACHE PATH "GoogleTest's source, where the installed library does not fit the C++ library")
if(REAP_GOOGLETEST)
    set(BUILD_GMOCK OFF)
    set(INSTALL_GTEST OFF)
    add_subdirectory(${REAP_GOOGLETEST} ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL SYSTEM)
else()
    find_package(GTest REQUIRED)
endif()
include(GoogleTest)

# GoogleTest and what most tests include, precompiled once. Everything that uses it has the options of
# for_tests, or the compiler would not take it.
add_library(precompiled-for-tests OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled.cpp)
# -Wpedantic is among what the compiler compares.
target_link_libraries(precompiled-for-tests PRIVATE GTest::gtest reap-warnings)
target_precompile_headers(precompiled-for-tests PRIVATE ${CMAKE_CURRENT_LIST_DIR}/precompiled.h)

# for_tests(TARGET...): where a build optimizes, as far as it costs no build time; -O3 takes three times as long.
function(for_tests)
    foreach(target ${ARGN})
        target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
    endforeach()
endfunction()

# precompiled(TARGET...): the same, with GoogleTest and the standard headers precompiled.
function(precompiled)
    for_tests(${ARGN})
    foreach(target ${ARGN})
        # A library's -fPIC is not an executable's -fPIE, and the precompiled header serves one of the two.
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
        target_compile_options(${target} PRIVATE -fPIE)
        # What GoogleTest defines: its own CMake files and Debian's differ in which property that is.
        target_compile_definitions(${target} PRIVATE
            $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_DEFINITIONS>)
        target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>)
        target_precompile_headers(${target} REUSE_FROM precompiled-for-tests)
    endforeach()
endfunction()
for_tests(precompiled-for-tests)
set_target_properties(precompiled-for-tests PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(precompiled-for-tests PRIVATE -fPIE)

# What `make test` builds; CI builds everything. `unit-tests` it runs under AddressSanitizer, and `as-shipped` those of
# which a sanitizer sees nothing. `sweeps` try every composition of layers.
add_custom_target(unit-tests)
add_custom_target(as-shipped)
add_custom_target(sweeps)
add_custom_target(counted) # by setup/golden
add_custom_target(memchecked) # by setup/memcheck: the programs of all tests without the label no-memcheck

# google_test(TARGET PREFIX [NAME name] [FILTER filter] [SHARDS n] [LABEL label] [ENVIRONMENT name=value] [GROUP target])
# The cases of a program as tests of ctest, each named PREFIX and its own name. With a sanitizer, whose start takes
# longer than most cases, the program as one test, or as so many as there are shards, named PREFIX and NAME (the
# target, if none is given). It writes its cases into reports/ of the build folder. GROUP is unit-tests if it is not
# named.
function(google_test target prefix)
    cmake_parse_arguments(arg "" "NAME;FILTER;SHARDS;LABEL;ENVIRONMENT;GROUP" "" ${ARGN})
    set(properties)
    if(arg_LABEL)
        list(APPEND properties LABELS ${arg_LABEL})
    endif()
    if(NOT arg_GROUP)
        set(arg_GROUP unit-tests)
    endif()
    if(TARGET ${arg_GROUP})
        add_dependencies(${arg_GROUP} ${target})
    endif()
    if(NOT arg_LABEL STREQUAL "no-memcheck")
        add_dependencies(memchecked ${target})
    endif()
    if(NOT arg_NAME)
        set(arg_NAME ${target})
    endif()
    if(NOT REAP_SANITIZE)
        if(arg_ENVIRONMENT)
            list(APPEND properties ENVIRONMENT ${arg_ENVIRONMENT})
        endif()
        gtest_discover_tests(${target} TEST_PREFIX "${prefix}" TEST_FILTER "${arg_FILTER}" TEST_LIST ${arg_NAME}-cases
            PROPERTIES ${properties})
        return()
    endif()
    if(NOT arg_SHARDS)
        set(arg_SHARDS 1)
    endif()
    set(filter)
    if(arg_FILTER) # an empty one would select nothing
        set(filter --gtest_filter=${arg_FILTER})
    endif()
    math(EXPR last "${arg_SHARDS} - 1")
    foreach(shard RANGE ${last})
        set(name ${prefix}${arg_NAME}.${shard})
        add_test(NAME ${name} COMMAND ${target} ${filter})
        set_tests_properties(${name} PROPERTIES ${properties} ENVIRONMENT
            "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${shard};GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/reports/${name}.xml;${arg_ENVIRONMENT}")
    endforeach()
endfunction()
