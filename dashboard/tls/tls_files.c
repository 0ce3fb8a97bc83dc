// SPDX-License-Identifier: MIT
// Certificate and key as people give them, and every way in which they can be wrong. The key is in
// memory only, and what it was read into is wiped.
#include "common/os.h"
#include "tls_internal.h"

#include "mbedtls/platform_util.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 262144u

typedef struct pem {
    char *text; // ends in 0
    size_t len; // without it
} pem;

static cm_status read_pem(const char *path, const char *option, pem *out)
{
    cm_file *file;
    size_t len = 0;
    CM_TRY(cm_file_open(path, &file));
    char *text = malloc(MOST_BYTES + 1);
    cm_status status = text ? cm_file_read_at(file, 0, text, MOST_BYTES, &len)
                            : cm_fail(CM_NO_MEMORY, "There is not enough memory for TLS.");
    cm_file_close(file);
    if (status == CM_OK && (len == MOST_BYTES || memchr(text, 0, len)))
        status = cm_fail(CM_USAGE,
                         "\"%s\" is no PEM file: %s takes text with -----BEGIN lines, of at "
                         "most 256 KiB.",
                         path, option);
    if (status != CM_OK) {
        free(text);
        return status;
    }
    text[len] = 0;
    *out = (pem){text, len};
    return CM_OK;
}

static void forget(pem *p)
{
    mbedtls_platform_zeroize(p->text, p->len);
    free(p->text);
}

static cm_status read_certificate(da_tls *tls, const char *path)
{
    pem p;
    CM_TRY(read_pem(path, "--tls-cert", &p));
    bool has_begin = strstr(p.text, "-----BEGIN CERTIFICATE-----");
    int result = mbedtls_x509_crt_parse(&tls->certificates, (unsigned char *)p.text, p.len + 1);
    forget(&p);
    if (!has_begin)
        return cm_fail(CM_USAGE,
                       "There is no certificate in \"%s\": --tls-cert takes a PEM file with "
                       "-----BEGIN CERTIFICATE-----, the server's own first.",
                       path);
    if (result > 0)
        return cm_fail(CM_USAGE,
                       "%d of the certificates in \"%s\" can't be read: damaged, or of a kind "
                       "other than RSA and ECDSA with SHA-2.",
                       result, path);
    if (result < 0)
        return cm_fail(CM_USAGE,
                       "The certificate in \"%s\" can't be read: it is damaged, or of a kind other "
                       "than RSA and ECDSA with SHA-2 (Mbed TLS says -0x%04x).",
                       path, (unsigned)-result);
    return CM_OK;
}

static cm_status read_key(da_tls *tls, const char *path)
{
    pem p;
    CM_TRY(read_pem(path, "--tls-key", &p));
    bool is_encrypted = strstr(p.text, "ENCRYPTED");
    bool has_begin = strstr(p.text, "PRIVATE KEY-----");
    int result = is_encrypted
                     ? MBEDTLS_ERR_PK_PASSWORD_REQUIRED
                     : mbedtls_pk_parse_key(&tls->key, (unsigned char *)p.text, p.len + 1, NULL, 0);
    forget(&p);
    if (is_encrypted)
        return cm_fail(CM_USAGE,
                       "The key in \"%s\" is encrypted, and nobody is there to ask for its "
                       "password: decrypt it (openssl pkey -in FILE -out FILE2) into a file that "
                       "only you can read.",
                       path);
    if (!has_begin)
        return cm_fail(CM_USAGE,
                       "There is no private key in \"%s\": --tls-key takes a PEM file with "
                       "-----BEGIN PRIVATE KEY-----.",
                       path);
    if (result != 0)
        return cm_fail(CM_USAGE,
                       "The private key in \"%s\" can't be read: it is damaged, or neither RSA nor "
                       "ECDSA (Mbed TLS says -0x%04x).",
                       path, (unsigned)-result);
    return CM_OK;
}

static bool belongs(const mbedtls_x509_crt *certificate, const mbedtls_pk_context *key)
{
    return mbedtls_pk_check_pair(&certificate->pk, key) == 0;
}

cm_status da_tls_read_files(da_tls *tls, const char *certificate, const char *key)
{
    CM_TRY(read_certificate(tls, certificate));
    CM_TRY(read_key(tls, key));
    if (belongs(&tls->certificates, &tls->key))
        return CM_OK;
    for (const mbedtls_x509_crt *c = tls->certificates.next; c; c = c->next)
        if (belongs(c, &tls->key))
            return cm_fail(CM_USAGE,
                           "The key in \"%s\" belongs to a certificate that is not the first in "
                           "\"%s\": put the server's own certificate first, then those that vouch "
                           "for it.",
                           key, certificate);
    return cm_fail(CM_USAGE,
                   "The key in \"%s\" does not belong to the certificate in \"%s\": name the two "
                   "that were made together.",
                   key, certificate);
}
