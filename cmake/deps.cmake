# The libraries we did not write, as static targets built from the sources that scripts/setup
# fetched and checked (build/deps/src). One way for every preset, so that the sanitizers see them
# too. Their warnings are theirs: no ortscope_flags, and their headers are SYSTEM headers.
#
#   dep_zydis    x86-64 decoder only: no formatter, no encoder, no C library, no allocation
#   dep_msgpack  msgpack-c
#   dep_unity    the test framework
#   dep_civetweb HTTP and WebSocket; no files, no CGI, no directories; TLS by dashboard/tls
#   dep_mbedtls  a server of TLS 1.2; dashboard/tls/mbedtls_options.h says what is built of it
#   dep_zlib     Debian's own static library (zlib1g-dev, libz-mingw-w64-dev): its source package
#                needs its configure script

set(ORTSCOPE_DEPS ${CMAKE_SOURCE_DIR}/build/deps CACHE PATH "Folder that scripts/setup filled")
set(deps_src ${ORTSCOPE_DEPS}/src)

foreach(needed zydis/src/Decoder.c zycore/include/Zycore/Types.h msgpack-c/src/unpack.c
               unity/unity.c civetweb/src/civetweb.c mbedtls/library/ssl_srv.c
               uplot/dist/uPlot.iife.min.js)
    if(NOT EXISTS ${deps_src}/${needed})
        message(FATAL_ERROR "${deps_src}/${needed} is missing: run scripts/setup, which fetches "
                            "the libraries that ortscope is built with, then try again.")
    endif()
endforeach()

set(zydis_src ${deps_src}/zydis/src)
add_library(dep_zydis STATIC
    ${zydis_src}/Decoder.c ${zydis_src}/DecoderData.c ${zydis_src}/MetaInfo.c
    ${zydis_src}/Mnemonic.c ${zydis_src}/Register.c ${zydis_src}/Segment.c
    ${zydis_src}/SharedData.c ${zydis_src}/String.c ${zydis_src}/Utils.c ${zydis_src}/Zydis.c)
target_include_directories(dep_zydis SYSTEM PUBLIC
    ${deps_src}/zydis/include ${deps_src}/zycore/include)
target_include_directories(dep_zydis PRIVATE ${zydis_src})
target_compile_definitions(dep_zydis PUBLIC
    ZYDIS_STATIC_BUILD ZYCORE_STATIC_BUILD ZYAN_NO_LIBC ZYDIS_DISABLE_FORMATTER
    ZYDIS_DISABLE_ENCODER)

# msgpack-c generates two headers whose only variable is the byte order; every system that we
# build for is little-endian.
set(MSGPACK_ENDIAN_BIG_BYTE 0)
set(MSGPACK_ENDIAN_LITTLE_BYTE 1)
set(msgpack_gen ${CMAKE_BINARY_DIR}/deps/msgpack-include)
foreach(header sysdep.h pack_template.h)
    configure_file(${deps_src}/msgpack-c/cmake/${header}.in ${msgpack_gen}/msgpack/${header} @ONLY)
endforeach()
set(msgpack_src ${deps_src}/msgpack-c/src)
add_library(dep_msgpack STATIC
    ${msgpack_src}/objectc.c ${msgpack_src}/unpack.c ${msgpack_src}/version.c
    ${msgpack_src}/vrefbuffer.c ${msgpack_src}/zone.c)
target_include_directories(dep_msgpack SYSTEM PUBLIC
    ${msgpack_gen} ${msgpack_gen}/msgpack ${deps_src}/msgpack-c/include)

set(mbedtls_src ${deps_src}/mbedtls/library)
set(mbedtls_files aes aesni asn1parse asn1write base64 bignum chacha20 chachapoly cipher cipher_wrap
    constant_time ecdh ecdsa ecp ecp_curves gcm hmac_drbg md oid pem pk pk_wrap pkparse platform platform_util
    poly1305
    rsa rsa_internal sha256 sha512 ssl_ciphersuites ssl_msg ssl_srv ssl_tls x509 x509_crt)
list(TRANSFORM mbedtls_files PREPEND ${mbedtls_src}/)
list(TRANSFORM mbedtls_files APPEND .c)
add_library(dep_mbedtls STATIC ${mbedtls_files})
target_include_directories(dep_mbedtls SYSTEM PUBLIC
    ${deps_src}/mbedtls/include ${CMAKE_SOURCE_DIR}/dashboard/tls)
target_compile_definitions(dep_mbedtls PUBLIC MBEDTLS_CONFIG_FILE="mbedtls_options.h")

# It allocates what a client's frame claims to hold; its malloc is a bounded one of ours. It is
# built from a copy: beside the original it would find its own mod_mbedtls.inl, not ours.
set(civetweb_c ${CMAKE_BINARY_DIR}/deps/civetweb/civetweb.c)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${deps_src}/civetweb/src/civetweb.c)
file(READ ${deps_src}/civetweb/src/civetweb.c civetweb_text)
# On Windows it reads what a client still sends before it closes, for as long as anything comes: a
# client that never stops would keep the thread.
set(civetweb_drain "} while (n > 0);\n#endif\n\n\tif (conn->dom_ctx->config[LINGER_TIMEOUT])")
string(FIND "${civetweb_text}" "${civetweb_drain}" civetweb_found)
if(civetweb_found EQUAL -1)
    message(FATAL_ERROR "CivetWeb closes connections in another way now: look at close_socket_gracefully.")
endif()
string(REPLACE "${civetweb_drain}"
    "} while (n > 0 && da_may_go_on(&drain_begin));\n#endif\n\n\tif (conn->dom_ctx->config[LINGER_TIMEOUT])"
    civetweb_text "${civetweb_text}")
string(REPLACE "\tchar buf[MG_BUF_LEN];\n\tint n;\n#endif\n\tstruct linger linger;"
    "\tchar buf[MG_BUF_LEN];\n\tint n;\n\tunsigned long long drain_begin = 0;\n#endif\n\tstruct linger linger;"
    civetweb_text "${civetweb_text}")
# Where it reads a body, each byte may take as long as the whole: a client could keep the thread for hours.
set(civetweb_pull "\t\tn = pull_inner(fp, conn, buf + nread, len, timeout);\n")
string(FIND "${civetweb_text}" "${civetweb_pull}" civetweb_found)
if(civetweb_found EQUAL -1)
    message(FATAL_ERROR "CivetWeb reads bodies in another way now: look at pull_all.")
endif()
string(REPLACE "${civetweb_pull}"
    "\t\tif ((timeout = da_body_seconds_left(conn)) <= 0.0) {\n\t\t\tbreak;\n\t\t}\n${civetweb_pull}"
    civetweb_text "${civetweb_text}")
set(civetweb_before "")
if(EXISTS ${civetweb_c})
    file(READ ${civetweb_c} civetweb_before)
endif()
if(NOT civetweb_before STREQUAL civetweb_text)
    file(WRITE ${civetweb_c} "${civetweb_text}")
endif()
set(civetweb_ours ${CMAKE_SOURCE_DIR}/dashboard/tls/civetweb_ours.c)
add_library(dep_civetweb STATIC
    ${civetweb_ours} ${CMAKE_SOURCE_DIR}/dashboard/src/bounded_malloc.c)
set_source_files_properties(${civetweb_ours} PROPERTIES
    COMPILE_DEFINITIONS malloc=da_bounded_malloc
    OBJECT_DEPENDS "${civetweb_c};${CMAKE_SOURCE_DIR}/dashboard/tls/mod_mbedtls.inl")
target_include_directories(dep_civetweb SYSTEM PUBLIC ${deps_src}/civetweb/include)
target_include_directories(dep_civetweb SYSTEM PRIVATE
    ${CMAKE_BINARY_DIR}/deps/civetweb ${CMAKE_SOURCE_DIR}/dashboard/tls ${deps_src}/civetweb/src)
target_compile_definitions(dep_civetweb PRIVATE
    USE_WEBSOCKET USE_IPV6 USE_MBEDTLS NO_SSL NO_CGI NO_FILES NO_CACHING NDEBUG
    SOCKET_TIMEOUT_QUANTUM=250) # ms until its threads notice that they are to end
target_link_libraries(dep_civetweb PUBLIC da_tls)
if(WIN32)
    target_link_libraries(dep_civetweb PUBLIC ws2_32)
endif()

if(ORTSCOPE_TESTS)
    add_library(dep_unity STATIC ${deps_src}/unity/unity.c)
    target_include_directories(dep_unity SYSTEM PUBLIC ${deps_src}/unity)
    target_compile_definitions(dep_unity PUBLIC UNITY_SUPPORT_64 UNITY_INCLUDE_DOUBLE)
endif()

find_library(ORTSCOPE_ZLIB NAMES libz.a)
find_path(ORTSCOPE_ZLIB_INCLUDE NAMES zlib.h)
if(NOT ORTSCOPE_ZLIB OR NOT ORTSCOPE_ZLIB_INCLUDE)
    message(FATAL_ERROR "zlib is missing: run scripts/setup, which installs it, then try again.")
endif()
add_library(dep_zlib STATIC IMPORTED GLOBAL)
set_target_properties(dep_zlib PROPERTIES IMPORTED_LOCATION ${ORTSCOPE_ZLIB}
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${ORTSCOPE_ZLIB_INCLUDE})

foreach(dep dep_zydis dep_msgpack dep_unity dep_civetweb dep_mbedtls)
    if(TARGET ${dep})
        target_compile_options(${dep} PRIVATE -w -fno-strict-aliasing)
    endif()
endforeach()
