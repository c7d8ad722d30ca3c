# What the scripts of this folder share. They are given ROOT (this repository), WORK (a folder to work in), WAY,
# GENERATOR, CC and CXX.

# Runs a command, and shows all that it said if it fails.
function(run)
    execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        list(JOIN ARGV " " command)
        message(FATAL_ERROR "${command}\n${said}\nstatus ${status}")
    endif()
    set(said "${said}" PARENT_SCOPE)
endfunction()

# Configures a project in WORK/NAME and builds a target of it: consume(NAME SOURCE TARGET ARGUMENT...)
function(consume name source target)
    file(REMOVE_RECURSE ${WORK}/${name})
    run(${CMAKE_COMMAND} -S ${source} -B ${WORK}/${name} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Debug
        -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX} ${ARGN})
    run(${CMAKE_COMMAND} --build ${WORK}/${name} --target ${target})
endfunction()
