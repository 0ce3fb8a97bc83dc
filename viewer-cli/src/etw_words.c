// SPDX-License-Identifier: MIT
#include "etw_words.h"

#include "collector/etw.h"

#include <string.h>

static const struct {
    const char *name;
    unsigned parts;
} words[] = {{"kernel", CO_ETW_KERNEL},
             {"ort", CO_ETW_ORT},
             {"gpu", CO_ETW_GPU},
             {"all", CO_ETW_ALL},
             {"off", 0}};
#define WORD_COUNT (sizeof words / sizeof *words)

cm_status vw_read_etw(const char *text, unsigned *out_parts)
{
    unsigned parts = text && !*text ? CO_ETW_KERNEL | CO_ETW_ORT : 0;
    for (const char *at = text ? text : ""; *at;) {
        size_t len = strcspn(at, ","), i = 0;
        while (i < WORD_COUNT &&
               (strlen(words[i].name) != len || memcmp(words[i].name, at, len) != 0))
            i++;
        if (i == WORD_COUNT)
            return cm_fail(CM_USAGE,
                           "--etw takes some of kernel, ort, gpu separated by commas, all, or off, "
                           "not \"%s\"; without a list it is kernel,ort.",
                           text);
        parts |= words[i].parts;
        at += len + (at[len] == ',');
    }
    *out_parts = parts;
    return CM_OK;
}
