// SPDX-License-Identifier: MIT
// The end of the server while a client waits for a long answer (natively: it needs a socket).
#include "common/os.h"
#include "server_internal.h"

#include "unity.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIMIT_MS 60000u // for what hangs

static da_live *g_live;
static atomic_bool g_begun, g_was_given_up;
static bool g_goes_on; // until it is given up
static atomic_bool g_hangs, g_has_ended;
static da_server *g_left; // one that could not be stopped
static char g_answer[4096];

void setUp(void)
{
    const da_about about = {.file = "x.ortl"};
    atomic_store(&g_begun, false);
    atomic_store(&g_was_given_up, false);
    memset(g_answer, 0, sizeof g_answer);
    TEST_ASSERT_EQUAL(CM_OK, da_live_create(&about, &g_live));
}

void tearDown(void)
{
    da_live_destroy(g_live);
}

static cm_status export_file(void *context, const da_export *what, cm_write_fn write, void *to)
{
    (void)context;
    CM_TRY(write(to, "some", 4));
    atomic_store(&g_begun, true);
    for (unsigned ms = 0; atomic_load(&g_hangs) && ms < LIMIT_MS; ms++)
        cm_sleep_ms(1);
    for (unsigned ms = 0; g_goes_on && ms < LIMIT_MS; ms++) {
        if (atomic_load(what->given_up)) {
            atomic_store(&g_was_given_up, true);
            return cm_fail(CM_FAILED, "The export was given up.");
        }
        cm_sleep_ms(1);
    }
    atomic_store(&g_has_ended, true);
    return CM_OK;
}

typedef struct asking {
    unsigned port;
    char request[400];
} asking;

static void *ask(void *context)
{
    const asking *a = context;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)a->port)};
    size_t len = 0;
    ssize_t got;
    int s = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(s, (struct sockaddr *)&address, sizeof address) == 0 &&
        send(s, a->request, strlen(a->request), MSG_NOSIGNAL) > 0)
        while ((got = recv(s, g_answer + len, sizeof g_answer - 1 - len, 0)) > 0)
            len += (size_t)got;
    close(s);
    return NULL;
}

static void begin_export(da_server **out, asking *a, pthread_t *thread)
{
    const da_server_options options = {.host = {.export_file = export_file}};
    TEST_ASSERT_EQUAL(CM_OK, da_server_start(&options, out));
    da_server_add(*out, &(da_capture){.live = g_live});
    a->port = da_server_port(*out);
    const char *token = strchr(da_server_url(*out), '=') + 1;
    snprintf(a->request, sizeof a->request,
             "GET /api/v1/export?format=ortl&token=%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
             token, a->port);
    TEST_ASSERT_EQUAL(0, pthread_create(thread, NULL, ask, a));
    for (unsigned ms = 0; !atomic_load(&g_begun) && ms < LIMIT_MS; ms++)
        cm_sleep_ms(1);
}

static void export_while_it_ends(bool goes_on)
{
    da_server *server;
    pthread_t thread;
    asking a;
    g_goes_on = goes_on;
    begin_export(&server, &a, &thread);
    TEST_ASSERT_TRUE(da_server_stop(server));
    pthread_join(thread, NULL);
    TEST_ASSERT_NOT_NULL(strstr(g_answer, "HTTP/1.1 200"));
    TEST_ASSERT_NOT_NULL(strstr(g_answer, "4\r\nsome\r\n"));
}

static bool is_whole(void)
{
    size_t len = strlen(g_answer);
    return len > 5 && strcmp(g_answer + len - 5, "0\r\n\r\n") == 0;
}

static void test_an_answer_that_goes_on_is_cut_and_that_can_be_seen(void)
{
    export_while_it_ends(true);
    TEST_ASSERT_TRUE(atomic_load(&g_was_given_up));
    TEST_ASSERT_FALSE(is_whole());
}

static void test_an_answer_that_is_nearly_done_is_waited_for(void)
{
    export_while_it_ends(false);
    TEST_ASSERT_TRUE(is_whole());
}

// The answer uses the figures for as long as it takes, so the caller is told to leave them.
static void test_an_answer_that_hangs_is_left_behind(void)
{
    pthread_t thread;
    asking a;
    g_goes_on = false;
    atomic_store(&g_hangs, true);
    atomic_store(&g_has_ended, false);
    begin_export(&g_left, &a, &thread);
    g_left->stop_turns = 20;
    TEST_ASSERT_FALSE(da_server_stop(g_left));
    TEST_ASSERT_FALSE(atomic_load(&g_has_ended));
    atomic_store(&g_hangs, false);
    pthread_join(thread, NULL);
    TEST_ASSERT_TRUE(atomic_load(&g_has_ended));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_answer_that_goes_on_is_cut_and_that_can_be_seen);
    RUN_TEST(test_an_answer_that_is_nearly_done_is_waited_for);
    RUN_TEST(test_an_answer_that_hangs_is_left_behind);
    return UNITY_END();
}
