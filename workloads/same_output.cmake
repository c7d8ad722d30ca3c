# Whether both variants of a program end well and print the same: cmake -D PROGRAM=P -D SCALE=N -P same_output.cmake

foreach(variant custom naive)
    set(switch)
    if(variant STREQUAL naive)
        set(switch --naive)
    endif()
    execute_process(COMMAND ${PROGRAM} --scale ${SCALE} ${switch}
        RESULT_VARIABLE status OUTPUT_VARIABLE ${variant} ERROR_VARIABLE said)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "${PROGRAM}, ${variant}: ended with ${status}\n${said}")
    endif()
endforeach()
if(NOT custom MATCHES "checksum [0-9a-f]+\n$" OR NOT custom STREQUAL naive)
    message(FATAL_ERROR "${PROGRAM} prints\n${custom}and without its allocator\n${naive}")
endif()
