// SPDX-License-Identifier: MIT
#include "common/os.h"
#include "net_system.h"
#include "random.h"
#include "tls_internal.h"

#include <stdlib.h>

#define HANDSHAKE_NS 10000000000ull
#define TURN_MS      50 // how long the end of the server may go unnoticed
// What one call takes from the socket at most: Mbed TLS would go on as long as a client sends
// records that mean nothing, with our locks held.
#define CALL_BYTES 65536

// What is fast on every processor of the last ten years first.
static const int ciphers[] = {MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                              MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
                              MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
                              MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
                              MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
                              MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
                              0};
static const mbedtls_ecp_group_id curves[] = {MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_SECP256R1,
                                              MBEDTLS_ECP_DP_SECP384R1, MBEDTLS_ECP_DP_NONE};

struct da_tls_link {
    mbedtls_ssl_context ssl;
    pthread_mutex_t lock; // of ssl, once the handshake is done
    da_socket socket;
    long may_take; // bytes in this call
};

int da_tls_random(void *unused, unsigned char *out, size_t len)
{
    (void)unused;
    return da_random(out, len) ? 0 : MBEDTLS_ERR_SSL_INTERNAL_ERROR;
}

cm_status da_tls_open(const char *certificate, const char *key, da_tls **out)
{
    da_tls *tls = calloc(1, sizeof *tls);
    if (!tls)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for TLS.");
    pthread_mutex_init(&tls->handshakes, NULL);
    mbedtls_x509_crt_init(&tls->certificates);
    mbedtls_pk_init(&tls->key);
    mbedtls_ssl_config_init(&tls->config);
    cm_status status = da_tls_read_files(tls, certificate, key);
    mbedtls_ssl_config *c = &tls->config;
    if (status == CM_OK &&
        (mbedtls_ssl_config_defaults(c, MBEDTLS_SSL_IS_SERVER, MBEDTLS_SSL_TRANSPORT_STREAM,
                                     MBEDTLS_SSL_PRESET_DEFAULT) != 0 ||
         mbedtls_ssl_conf_own_cert(c, &tls->certificates, &tls->key) != 0))
        status = cm_fail(CM_NO_MEMORY, "There is not enough memory for TLS.");
    if (status != CM_OK) {
        da_tls_close(tls);
        return status;
    }
    mbedtls_ssl_conf_min_version(c, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
    mbedtls_ssl_conf_ciphersuites(c, ciphers);
    mbedtls_ssl_conf_curves(c, curves);
    mbedtls_ssl_conf_rng(c, da_tls_random, NULL);
    *out = tls;
    return CM_OK;
}

void da_tls_close(da_tls *tls)
{
    if (!tls)
        return;
    mbedtls_ssl_config_free(&tls->config);
    mbedtls_pk_free(&tls->key);
    mbedtls_x509_crt_free(&tls->certificates);
    pthread_mutex_destroy(&tls->handshakes);
    free(tls);
}

// ------------------------------------------------------------------------------------------- links

static int send_bytes(void *context, const unsigned char *bytes, size_t len)
{
    da_tls_link *link = context;
    long n = da_net_write(link->socket, bytes, len);
    return n >= 0                ? (int)n
           : da_net_would_wait() ? MBEDTLS_ERR_SSL_WANT_WRITE
                                 : MBEDTLS_ERR_SSL_CONN_EOF;
}

static int receive_bytes(void *context, unsigned char *bytes, size_t len)
{
    da_tls_link *link = context;
    if (link->may_take <= 0)
        return MBEDTLS_ERR_SSL_WANT_READ;
    long n = da_net_read(link->socket, bytes, len);
    if (n < 0)
        return da_net_would_wait() ? MBEDTLS_ERR_SSL_WANT_READ : MBEDTLS_ERR_SSL_CONN_EOF;
    link->may_take -= n;
    return (int)n;
}

static bool is_again(int result)
{
    return result == MBEDTLS_ERR_SSL_WANT_READ || result == MBEDTLS_ERR_SSL_WANT_WRITE;
}

static bool shake_hands(const da_tls_gate *gate, da_tls_link *link)
{
    uint64_t end_ns = cm_monotonic_ns() + HANDSHAKE_NS;
    for (;;) {
        pthread_mutex_lock(&gate->tls->handshakes);
        link->may_take = CALL_BYTES;
        int result = mbedtls_ssl_handshake(&link->ssl);
        pthread_mutex_unlock(&gate->tls->handshakes);
        if (!is_again(result))
            return result == 0;
        if (gate->is_ending(gate) || cm_monotonic_ns() >= end_ns)
            return false;
        da_net_ready(link->socket, result == MBEDTLS_ERR_SSL_WANT_WRITE, TURN_MS);
    }
}

static void destroy(da_tls_link *link)
{
    mbedtls_ssl_free(&link->ssl);
    pthread_mutex_destroy(&link->lock);
    free(link);
}

da_tls_link *da_tls_accept(const da_tls_gate *gate, int socket)
{
    da_tls_link *link = gate->tls ? calloc(1, sizeof *link) : NULL;
    if (!link)
        return NULL;
    gate->comes(gate, socket);
    link->socket = (da_socket)socket; // of Windows' handles the lower 32 bits count
    pthread_mutex_init(&link->lock, NULL);
    mbedtls_ssl_init(&link->ssl);
    mbedtls_ssl_set_bio(&link->ssl, link, send_bytes, receive_bytes, NULL);
    if (mbedtls_ssl_setup(&link->ssl, &gate->tls->config) == 0 && shake_hands(gate, link))
        return link;
    destroy(link);
    return NULL;
}

int da_tls_read(da_tls_link *link, void *bytes, int len)
{
    pthread_mutex_lock(&link->lock);
    link->may_take = CALL_BYTES;
    int result = mbedtls_ssl_read(&link->ssl, bytes, len > 0 ? (size_t)len : 0);
    pthread_mutex_unlock(&link->lock);
    return is_again(result) ? DA_TLS_AGAIN : result > 0 ? result : DA_TLS_OVER;
}

int da_tls_write(da_tls_link *link, const void *bytes, int len)
{
    if (len <= 0)
        return 0;
    pthread_mutex_lock(&link->lock);
    int result = mbedtls_ssl_write(&link->ssl, bytes, (size_t)len);
    pthread_mutex_unlock(&link->lock);
    return is_again(result) ? DA_TLS_AGAIN : result > 0 ? result : DA_TLS_OVER;
}

size_t da_tls_waiting(da_tls_link *link)
{
    pthread_mutex_lock(&link->lock);
    size_t bytes = mbedtls_ssl_get_bytes_avail(&link->ssl);
    pthread_mutex_unlock(&link->lock);
    return bytes;
}

void da_tls_end(da_tls_link *link)
{
    mbedtls_ssl_close_notify(&link->ssl);
    destroy(link);
}
