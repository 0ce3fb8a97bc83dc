# SPDX-License-Identifier: MIT
# cmake -DOBJDUMP=... -DDLL=... -P check_imports.cmake
# The hook DLL goes into other people's processes: it may import from kernel32 and ntdll only, and
# export nothing but the three names that the injector knows.
execute_process(COMMAND ${OBJDUMP} -p ${DLL} OUTPUT_VARIABLE dump COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "DLL Name: [^\n]+" imports "${dump}")
foreach(import ${imports})
    string(TOLOWER "${import}" import)
    if(NOT import MATCHES "^dll name: (kernel32|ntdll)\\.dll")
        message(FATAL_ERROR "${DLL} imports a library that not every process has: ${import}")
    endif()
endforeach()
list(LENGTH imports count)
if(count EQUAL 0)
    message(FATAL_ERROR "no imports were found in ${DLL}: the check itself is broken")
endif()
string(REGEX MATCHALL "ortscope_hook_(attach|detach|state)\n" known "${dump}")
string(REGEX MATCH "Number in:[^[]*Export Address Table[ \t]+([0-9a-f]+)" number "${dump}")
list(LENGTH known count)
if(NOT count EQUAL 3 OR NOT CMAKE_MATCH_1 MATCHES "^0*3$")
    message(FATAL_ERROR "${DLL} must export its three names and nothing else "
                        "(found ${count} of them among ${CMAKE_MATCH_1})")
endif()
