// SPDX-License-Identifier: MIT
#include "screen.h"

static int arrow(char letter)
{
    switch (letter) {
    case 'A':
        return VW_KEY_UP;
    case 'B':
        return VW_KEY_DOWN;
    case 'C':
        return VW_KEY_RIGHT;
    case 'D':
        return VW_KEY_LEFT;
    default:
        return VW_KEY_NONE;
    }
}

// Where the parameters of ESC [ end, which is where its letter is or will be.
static size_t end_of_parameters(const char *bytes, size_t len)
{
    size_t at = 2;
    while (at < len && (unsigned char)bytes[at] >= 0x20 && (unsigned char)bytes[at] < 0x40)
        at++;
    return at;
}

bool vw_screen_is_cut(const char *bytes, size_t len)
{
    if (len == 0 || bytes[0] != 27)
        return false;
    return len == 1 ||
           ((bytes[1] == '[' || bytes[1] == 'O') && end_of_parameters(bytes, len) == len);
}

int vw_screen_decode(const char *bytes, size_t len, size_t *taken)
{
    *taken = len ? 1 : 0;
    if (len == 0)
        return VW_KEY_NONE;
    unsigned char first = (unsigned char)bytes[0];
    if (first == 3)
        return VW_KEY_QUIT;
    if (first >= 128)
        return VW_KEY_NONE;
    if (first != 27 || len < 2 || (bytes[1] != '[' && bytes[1] != 'O'))
        return first;
    size_t at = end_of_parameters(bytes, len);
    *taken = at < len ? at + 1 : at;
    return at == 2 && at < len ? arrow(bytes[at]) : VW_KEY_NONE;
}
