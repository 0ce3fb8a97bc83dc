// SPDX-License-Identifier: MIT
// tl_events_doc FILE: writes docs/events.md, by way of the target tl_events_doc_update.
#include "events_doc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: tl_events_doc FILE\n");
        return 2;
    }
    size_t bytes = 0;
    char *text = tl_events_doc(&bytes);
    FILE *file = text == NULL ? NULL : fopen(argv[1], "wb");
    bool written = file != NULL && fwrite(text, 1, bytes, file) == bytes;
    if (file != NULL && fclose(file) != 0)
        written = false;
    if (!written)
        fprintf(stderr, "%s could not be written.\n", argv[1]);
    free(text);
    return written ? 0 : 1;
}
