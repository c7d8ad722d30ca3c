# unity(TARGET...): compiles up to eight sources of a target as one translation unit where REAP_UNITY is ON: what they
# share is then compiled once. Their anonymous namespaces must not define the same name.
option(REAP_UNITY "Unity builds: less to compile from nothing, more to compile after a change" OFF)
function(unity)
    if(REAP_UNITY)
        set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    endif()
endfunction()
