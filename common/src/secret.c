// SPDX-License-Identifier: MIT
#include "common/secret.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool cm_text_contains(const char *text, size_t len, const char *word)
{
    size_t word_len = 0;
    while (word[word_len])
        word_len++;
    for (size_t i = 0; i + word_len <= len; i++) {
        size_t n = 0;
        while (n < word_len && lower(text[i + n]) == word[n])
            n++;
        if (n == word_len)
            return true;
    }
    return false;
}

bool cm_names_secret(const char *text, size_t len)
{
    static const char *const words[] = {"password",    "secret",  "token",     "credential",
                                        "private_key", "api_key", "encryption"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (cm_text_contains(text, len, words[i]))
            return true;
    return false;
}
