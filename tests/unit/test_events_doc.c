// SPDX-License-Identifier: MIT
// docs/events.md in the repository is what the schema says. EVENTS_DOC_PATH comes from CMake.
#include "events_doc.h"
#include "unity.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void setUp(void) {}

void tearDown(void) {}

static void test_committed_document_is_up_to_date(void)
{
    size_t expected_bytes = 0;
    char *expected = tl_events_doc(&expected_bytes);
    TEST_ASSERT_NOT_NULL(expected);
    FILE *file = fopen(EVENTS_DOC_PATH, "rb");
    TEST_ASSERT_NOT_NULL_MESSAGE(file, EVENTS_DOC_PATH " can't be opened.");
    char *actual = calloc(1, expected_bytes + 2);
    size_t actual_bytes = fread(actual, 1, expected_bytes + 1, file);
    fclose(file);
    bool same = actual_bytes == expected_bytes && memcmp(actual, expected, expected_bytes) == 0;
    free(actual);
    free(expected);
    TEST_ASSERT_TRUE_MESSAGE(same, "docs/events.md is not what schema.h says. Renew it with "
                                   "cmake --build build/linux --target tl_events_doc_update "
                                   "and commit it.");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_committed_document_is_up_to_date);
    return UNITY_END();
}
