// SPDX-License-Identifier: MIT
// The live view's server as the commands use it: its options, and what the viewer does for it.
#pragma once

#include "dashboard/server.h"
#include "options.h"
#include "otlp_option.h"

typedef struct vw_live_args {
    const char *audit, *listen, *tls_cert, *tls_key, *token_file;
    vw_list names;
    vw_number port, rate;
    bool no_open;
    vw_otlp_args otlp;
} vw_live_args;

// The options of every command that has a live view; `field` is where the struct lies in the args.
#define VW_LIVE_OPTIONS(type, field)                                                                \
    {"port",   0,                                                                                   \
     VW_COUNT, offsetof(type, field.port),                                                          \
     "N",      "of the live view (default: 9797 or the next free one)"},                            \
        {"no-open", 0,                                                                              \
         VW_FLAG,   offsetof(type, field.no_open),                                                  \
         NULL,      "do not open the live view in the browser; its address is printed"},            \
        {"live-rate", 0,                                                                            \
         VW_COUNT,    offsetof(type, field.rate),                                                   \
         "HZ",        "updates of the live view a second, 1 to 60 (default 10)"},                   \
        {"listen",                                                                                  \
         0,                                                                                         \
         VW_TEXT,                                                                                   \
         offsetof(type, field.listen),                                                              \
         "ADDRESS",                                                                                 \
         "where the live view listens (default 127.0.0.1); other machines can reach it "            \
         "elsewhere, so that takes TLS"},                                                           \
        {"host",  0,                                                                                \
         VW_LIST, offsetof(type, field.names),                                                      \
         "NAME",  "a name or address by which clients ask for it; may be given several times"},     \
        {"tls-cert", 0,                                                                             \
         VW_TEXT,    offsetof(type, field.tls_cert),                                                \
         "FILE",     "certificate for TLS (PEM), those that vouch for it behind it"},               \
        {"tls-key", 0,                                                                              \
         VW_TEXT,   offsetof(type, field.tls_key),                                                  \
         "FILE",    "its private key (PEM, not encrypted)"},                                        \
        {"token-file", 0,                                                                           \
         VW_TEXT,      offsetof(type, field.token_file),                                            \
         "FILE",       "tokens instead of random ones: lines \"control: TOKEN\", \"read: TOKEN\""}, \
    {                                                                                               \
        "audit", 0, VW_TEXT, offsetof(type, field.audit), "FILE",                                   \
            "append what clients of the live view made it do"                                       \
    }

// Starts it; prints where it is once there is something to see (vw_live_announce). no_page: nobody
// can ask it, it only pushes (--otlp).
cm_status vw_live_start(const vw_live_args *args, const da_host *host, bool no_page,
                        da_server **out);
void vw_live_announce(const vw_live_args *args, const da_server *server);

// What every command does for its server: exports, and messages on standard error.
da_host vw_live_host(void);
