include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

consume(fetch_content ${CMAKE_CURRENT_LIST_DIR}/fetch_content consumer -DREAP_ROOT=${ROOT})
run(${WORK}/fetch_content/consumer)
