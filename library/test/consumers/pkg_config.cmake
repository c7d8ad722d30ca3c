include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

# What pkg-config says of a prefix: reap_flags(VARIABLE KIND OPTION...)
function(reap_flags variable kind)
    file(GLOB_RECURSE file ${WORK}/${kind}/reap.pc)
    get_filename_component(folder ${file} DIRECTORY)
    run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} pkg-config ${ARGN} reap)
    separate_arguments(flags UNIX_COMMAND "${said}")
    set(${variable} ${flags} PARENT_SCOPE)
endfunction()

set(warnings -Wall -Wextra -Wpedantic -Werror)
reap_flags(flags static --cflags --libs --static)
run(${CC} -std=c11 ${warnings} ${CMAKE_CURRENT_LIST_DIR}/consumer.c -o ${WORK}/pkg_config_static ${flags})
run(${WORK}/pkg_config_static)

reap_flags(flags shared --cflags --libs)
reap_flags(folder shared --variable=libdir)
run(${CC} -std=c11 ${warnings} ${CMAKE_CURRENT_LIST_DIR}/consumer.c -o ${WORK}/pkg_config_c ${flags} -Wl,-rpath,${folder})
run(${WORK}/pkg_config_c)
run(${CXX} -std=c++20 ${warnings} ${CMAKE_CURRENT_LIST_DIR}/consumer.cpp -o ${WORK}/pkg_config_shared ${flags}
    -Wl,-rpath,${folder})
run(${WORK}/pkg_config_shared)
