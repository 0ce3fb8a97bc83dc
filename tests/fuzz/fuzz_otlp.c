// SPDX-License-Identifier: MIT
// What an OTLP receiver may answer, and what a user may type: addresses and headers. The first byte
// says which.
#include "http_answer.h"
#include "http_url.h"

#include <stdlib.h>
#include <string.h>

// However it arrives, an answer that is complete is the same; and nothing is read past its end.
static void answer(const uint8_t *data, size_t size)
{
    da_http_answer whole;
    da_otlp_answer told;
    for (size_t len = 0; len <= size; len += len < 64 ? 1 : size / 16 + 1) {
        char *bytes = malloc(len + 1);
        memcpy(bytes, data, len);
        char *exact = realloc(bytes, len ? len : 1);
        if (da_http_parse(exact, len, len == size, &whole) == DA_HTTP_DONE) {
            if (whole.status < 200 || whole.status > 999 || whole.body < exact ||
                whole.body + whole.body_len > exact + len)
                abort();
            da_otlp_answer_parse(whole.body, whole.body_len, &told);
            if (!memchr(told.message, 0, sizeof told.message))
                abort();
        }
        free(exact);
    }
}

static void typed(const uint8_t *data, size_t size)
{
    da_http_url url;
    char *text = malloc(size + 1), shown[2000];
    memcpy(text, data, size);
    text[size] = 0;
    if (da_http_url_parse(text, "/v1/metrics", &url) == CM_OK) {
        da_http_url_show(&url, shown, sizeof shown);
        if (url.path[0] != '/' || !url.host[0] || url.port < 1 || url.port > 65535 ||
            strpbrk(url.path, " \r\n\t#") || strpbrk(url.host, " \r\n\t@/[]"))
            abort(); // it would say something else in a request
        da_http_url again;
        if (da_http_url_parse(shown, "/v1/metrics", &again) != CM_OK ||
            strcmp(again.host, url.host) != 0 || again.port != url.port)
            abort();
    }
    if (da_http_header_check(text) == CM_OK && strpbrk(text, "\r\n"))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    da_otlp_answer told;
    if (!size)
        return 0;
    if (data[0] == 'u')
        typed(data + 1, size - 1);
    else if (data[0] == 'j')
        da_otlp_answer_parse((const char *)data + 1, size - 1, &told);
    else
        answer(data + 1, size - 1);
    return 0;
}
