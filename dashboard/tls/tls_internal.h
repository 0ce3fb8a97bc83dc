// SPDX-License-Identifier: MIT
// What tls.c and tls_files.c share.
#pragma once

#include "tls.h"

#include "mbedtls/ssl.h"

#include <pthread.h>

struct da_tls {
    mbedtls_x509_crt certificates; // the server's own, then those that vouch for it
    mbedtls_pk_context key;
    mbedtls_ssl_config config;
    pthread_mutex_t handshakes;
};

// tls.c: the system's random numbers, as Mbed TLS asks for them.
int da_tls_random(void *unused, unsigned char *out, size_t len);

// tls_files.c
cm_status da_tls_read_files(da_tls *tls, const char *certificate, const char *key);
