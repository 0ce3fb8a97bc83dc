// SPDX-License-Identifier: MIT
// The WebSocket's clients and the thread that makes their messages, without CivetWeb: connections
// are structures of ours, which take what is written at once, slowly, or not at all. Clients come
// and go on many threads meanwhile, under the thread sanitizer too.
#include "common/os.h"
#include "connection.h"
#include "net_system.h"
#include "sending.h"
#include "server_internal.h"

#include "unity.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_MS 60000u // for what hangs
#define THREADS  6u
#define ROUNDS   20u

typedef enum manner { READS, READS_SLOWLY, HAS_GONE, READS_NOTHING } manner;

struct mg_connection {
    manner manner;
    void *data;
    int ends_of_pair[2];        // of who reads nothing
    atomic_uint writes, closes; // whole messages; close frames
    atomic_bool ends, was_last, broken;
};

static da_server g_server;
static da_live *g_live;
static atomic_bool g_over;

// --------------------------------------------------------------------------------------- CivetWeb

void da_sending_begin(da_sending *s, da_server *server, struct mg_connection *connection,
                      bool is_stream)
{
    *s = (da_sending){.server = server, .connection = connection, .is_stream = is_stream};
}

// Until somebody ends the connection.
static bool wait_for_the_end(struct mg_connection *c)
{
    atomic_fetch_add(&c->writes, 1);
    if (!da_net_ready(c->ends_of_pair[0], false, LIMIT_MS))
        atomic_store(&c->broken, true);
    return false;
}

bool da_send(da_sending *s, const void *bytes, size_t len)
{
    struct mg_connection *c = s->connection;
    const char *frame = bytes;
    if (c->manner == HAS_GONE)
        return false;
    if (c->manner == READS_NOTHING)
        return wait_for_the_end(c);
    if (c->manner == READS_SLOWLY)
        cm_sleep_ms(20);
    if (len < 4 || (unsigned char)frame[0] != 0x81 || frame[len - 2] != '}')
        atomic_store(&c->broken, true);
    if (atomic_load(&c->was_last)) // nothing follows the last one
        atomic_store(&c->broken, true);
    for (size_t i = 0; i + 12 < len && i < 400; i++)
        if (memcmp(frame + i, "\"last\": true", 12) == 0)
            atomic_store(&c->was_last, true);
    atomic_fetch_add(&c->writes, 1);
    return true;
}

int mg_websocket_write(struct mg_connection *c, int opcode, const char *data, size_t len)
{
    (void)data;
    if (opcode == MG_WEBSOCKET_OPCODE_CONNECTION_CLOSE)
        atomic_fetch_add(&c->closes, 1);
    return (int)len;
}

void mg_lock_connection(struct mg_connection *c)
{
    (void)c;
}

void mg_unlock_connection(struct mg_connection *c)
{
    (void)c;
}

void mg_disable_connection_keep_alive(struct mg_connection *c)
{
    atomic_store(&c->ends, true);
}

void mg_set_user_connection_data(const struct mg_connection *c, void *data)
{
    ((struct mg_connection *)(size_t)c)->data = data;
}

void *mg_get_user_connection_data(const struct mg_connection *c)
{
    return c->data;
}

long long da_connection_socket(const struct mg_connection *c)
{
    return c->manner == READS_NOTHING ? c->ends_of_pair[0] : -1;
}

da_request da_request_of(const struct mg_connection *c)
{
    (void)c;
    return (da_request){.method = "GET", .path = "/ws/metrics", .query = "hz=60"};
}

// ------------------------------------------------------------------------------------- the server

void setUp(void)
{
    const da_about about = {.file = "x.ortl"};
    memset(&g_server, 0, sizeof g_server);
    atomic_store(&g_over, false);
    da_core_init(&g_server.core, &(da_host){0}, 10);
    pthread_mutex_init(&g_server.streams_lock, NULL);
    pthread_cond_init(&g_server.streams_changed, NULL);
    TEST_ASSERT_EQUAL(CM_OK, da_live_create(&about, &g_live));
    da_core_add(&g_server.core, &(da_capture){.live = g_live});
    TEST_ASSERT_TRUE(da_news_begin(&g_server));
}

void tearDown(void)
{
    da_news_end(&g_server);
    da_core_deinit(&g_server.core);
    pthread_mutex_destroy(&g_server.streams_lock);
    pthread_cond_destroy(&g_server.streams_changed);
    da_live_destroy(g_live);
}

static void open_connection(struct mg_connection *c)
{
    da_stream_ready(c, &g_server);
}

static void await(const atomic_uint *count, unsigned least)
{
    for (unsigned ms = 0; atomic_load(count) < least && ms < LIMIT_MS; ms++)
        cm_sleep_ms(1);
    TEST_ASSERT_TRUE(atomic_load(count) >= least);
}

static void *add_rows(void *context)
{
    (void)context;
    for (int64_t i = 1; !atomic_load(&g_over); i++) {
        const int64_t row[TM_run_COUNT] = {[TM_run_session] = 1,
                                           [TM_run_run] = i,
                                           [TM_run_begin] = i * 1000000,
                                           [TM_run_duration] = 500000};
        da_live_row(g_live, TM_KIND_run, row);
        da_live_time(g_live, i * 1000000 + 500000);
        cm_sleep_ms(1);
    }
    return NULL;
}

// Comes, reads some, changes its mind, goes; broken: messages that were not whole.
static void *come_and_go(void *context)
{
    atomic_uint *broken = context;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct mg_connection c = {.manner = (manner)(i % 3)};
        char wish[] = "{\"hz\": 30, \"window_s\": 2}";
        open_connection(&c);
        for (unsigned ms = 0; c.manner != HAS_GONE && atomic_load(&c.writes) < 2 && ms < LIMIT_MS;
             ms++)
            cm_sleep_ms(1);
        if (c.data)
            da_stream_data(&c, 0x81, wish, sizeof wish - 1, &g_server);
        da_stream_close(&c, &g_server);
        atomic_fetch_add(broken, atomic_load(&c.broken) || (c.manner != HAS_GONE && !c.writes));
    }
    return NULL;
}

// ------------------------------------------------------------------------------------------ tests

static void test_clients_come_and_go_while_messages_are_made(void)
{
    pthread_t threads[THREADS], rows;
    atomic_uint broken = 0;
    struct mg_connection stays = {.manner = READS};
    TEST_ASSERT_EQUAL(0, pthread_create(&rows, NULL, add_rows, NULL));
    open_connection(&stays);
    for (size_t i = 0; i < THREADS; i++)
        TEST_ASSERT_EQUAL(0, pthread_create(&threads[i], NULL, come_and_go, &broken));
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    await(&stays.writes, atomic_load(&stays.writes) + 3);
    atomic_store(&g_over, true);
    pthread_join(rows, NULL);
    da_stream_close(&stays, &g_server);
    TEST_ASSERT_EQUAL_UINT(0, atomic_load(&broken));
    TEST_ASSERT_FALSE(atomic_load(&stays.broken));
    TEST_ASSERT_FALSE(da_streams_open(&g_server));
    for (size_t i = 0; i < DA_STREAMS; i++)
        TEST_ASSERT_NULL(g_server.streams[i]);
}

static void test_everybody_gets_a_last_message(void)
{
    struct mg_connection c[4] = {
        {.manner = READS}, {.manner = READS_SLOWLY}, {.manner = HAS_GONE}, {.manner = READS}};
    for (size_t i = 0; i < 4; i++)
        open_connection(&c[i]);
    await(&c[0].writes, 1);
    await(&c[1].writes, 1);
    da_news_end(&g_server);
    for (unsigned ms = 0; da_streams_sending(&g_server) && ms < LIMIT_MS; ms++)
        cm_sleep_ms(1);
    TEST_ASSERT_TRUE(da_streams_open(&g_server)); // until they go
    for (size_t i = 0; i < 4; i++) {
        bool reads = c[i].manner != HAS_GONE;
        TEST_ASSERT_EQUAL(reads, atomic_load(&c[i].was_last));
        TEST_ASSERT_EQUAL(!reads, atomic_load(&c[i].ends)); // who can't be told loses its place
        TEST_ASSERT_FALSE(atomic_load(&c[i].broken));
        da_stream_close(&c[i], &g_server);
    }
    TEST_ASSERT_FALSE(da_streams_open(&g_server));
}

static void test_one_too_many_is_closed_and_not_left_waiting(void)
{
    static struct mg_connection c[DA_STREAMS + 1];
    memset(c, 0, sizeof c);
    for (size_t i = 0; i <= DA_STREAMS; i++)
        open_connection(&c[i]);
    for (size_t i = 0; i <= DA_STREAMS; i++) {
        bool over = i == DA_STREAMS;
        if (!over)
            await(&c[i].writes, 1);
        TEST_ASSERT_EQUAL_UINT(over, atomic_load(&c[i].closes));
        TEST_ASSERT_EQUAL(over, atomic_load(&c[i].ends));
    }
    for (size_t i = 0; i <= DA_STREAMS; i++)
        da_stream_close(&c[i], &g_server);
    da_news_end(&g_server);
    struct mg_connection late = {.manner = READS}; // there is no thread for it any more
    open_connection(&late);
    TEST_ASSERT_TRUE(atomic_load(&late.closes) == 1 && atomic_load(&late.ends));
    da_stream_close(&late, &g_server);
}

static void test_who_reads_nothing_and_goes_is_not_waited_for(void)
{
    struct mg_connection c = {.manner = READS_NOTHING};
    TEST_ASSERT_EQUAL(0, socketpair(AF_UNIX, SOCK_STREAM, 0, c.ends_of_pair));
    open_connection(&c);
    await(&c.writes, 1);
    da_stream_close(&c, &g_server);
    TEST_ASSERT_FALSE(atomic_load(&c.broken));
    da_net_close(c.ends_of_pair[0]);
    da_net_close(c.ends_of_pair[1]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_clients_come_and_go_while_messages_are_made);
    RUN_TEST(test_everybody_gets_a_last_message);
    RUN_TEST(test_one_too_many_is_closed_and_not_left_waiting);
    RUN_TEST(test_who_reads_nothing_and_goes_is_not_waited_for);
    return UNITY_END();
}
