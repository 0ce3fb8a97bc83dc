// SPDX-License-Identifier: MIT
// The tokens: made anew for each start, or taken from a file where many machines are asked by the
// same programs.
#include "common/os.h"
#include "random.h"
#include "request.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 4096u

static bool make_token(char *out)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[DA_TOKEN_BYTES / 2];
    if (!da_random(bytes, sizeof bytes))
        return false;
    for (size_t i = 0; i < sizeof bytes; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[DA_TOKEN_BYTES] = 0;
    return true;
}

cm_status da_tokens_make(da_access *access)
{
    return make_token(access->control) && make_token(access->read)
               ? CM_OK
               : cm_fail(CM_FAILED, "The system gives no random numbers.");
}

// Never tells what is in the file: messages get into logs.
static cm_status broken(const char *path, unsigned line, const char *why)
{
    return cm_fail(CM_USAGE,
                   "Line %u of the token file \"%s\" %s. It takes \"control: TOKEN\" and \"read: "
                   "TOKEN\", a line each; a token has 32 to 128 letters, digits, - or _ (openssl "
                   "rand -hex 24).",
                   line, path, why);
}

static cm_status take(const char *line, size_t len, const char *path, unsigned number, da_access *a)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    bool control = len >= 8 && memcmp(line, "control:", 8) == 0;
    bool read = len >= 5 && memcmp(line, "read:", 5) == 0;
    if (!control && !read)
        return broken(path, number, "names neither");
    const char *token = line + (control ? 8 : 5), *end = line + len;
    while (token < end && (*token == ' ' || *token == '\t'))
        token++;
    size_t token_len = (size_t)(end - token);
    for (size_t i = 0; i < token_len; i++)
        if (!token[i] || !strchr(allowed, token[i]))
            return broken(path, number, "has a token with other characters");
    if (token_len < DA_TOKEN_LEAST)
        return broken(path, number, "has a token that is too short");
    if (token_len > DA_TOKEN_MOST)
        return broken(path, number, "has a token that is too long");
    char *to = control ? a->control : a->read;
    if (*to)
        return broken(path, number, "has a token that another line has given already");
    memcpy(to, token, token_len);
    to[token_len] = 0;
    return CM_OK;
}

cm_status da_tokens_parse(const char *text, const char *path, da_access *access)
{
    unsigned number = 1;
    access->control[0] = access->read[0] = 0;
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) // as Windows' editors write it
        text += 3;
    for (; *text; number++) {
        size_t whole = strcspn(text, "\n"), len = whole;
        while (len && strchr(" \t\r", text[len - 1]))
            len--;
        if (len && *text != '#')
            CM_TRY(take(text, len, path, number, access));
        text += whole + (text[whole] == '\n');
    }
    if (!access->control[0] && !access->read[0])
        return broken(path, number, "is its end, and there was no token");
    if (strcmp(access->control, access->read) == 0)
        return broken(path, number - 1,
                      "has the same token as the other: who may read could control");
    return CM_OK;
}

cm_status da_tokens_read(const char *path, da_access *access)
{
    char text[MOST_BYTES + 1];
    cm_file *file;
    size_t len = 0;
    CM_TRY(cm_file_open(path, &file));
    cm_status status = cm_file_read_at(file, 0, text, MOST_BYTES, &len);
    cm_file_close(file);
    CM_TRY(status);
    if (len == MOST_BYTES || memchr(text, 0, len))
        return cm_fail(CM_USAGE, "\"%s\" is no token file: it is too long, or no text.", path);
    text[len] = 0;
    return da_tokens_parse(text, path, access);
}
