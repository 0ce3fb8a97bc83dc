// SPDX-License-Identifier: MIT
#include "live_server.h"

#include "export/export_stream.h"
#include "serve_system.h"

#include <string.h>

cm_status vw_live_start(const vw_live_args *args, const da_host *host, bool no_page,
                        da_server **out)
{
    da_server_options options = {.port = (unsigned)args->port.count,
                                 .hz = args->rate.given ? (double)args->rate.count : 0,
                                 .audit = args->audit,
                                 .listen = args->listen,
                                 .tls_cert = args->tls_cert,
                                 .tls_key = args->tls_key,
                                 .token_file = args->token_file,
                                 .names = args->names.texts,
                                 .name_count = args->names.count,
                                 .host = *host};
    if (args->port.given && (args->port.count < 1 || args->port.count > 65535))
        return cm_fail(CM_USAGE, "--port takes 1 to 65535.");
    if (args->rate.given && (args->rate.count < 1 || args->rate.count > 60))
        return cm_fail(CM_USAGE, "--live-rate takes 1 to 60.");
    options.no_page = no_page;
    CM_TRY(vw_read_otlp(&args->otlp, &options.otlp));
    return da_server_start(&options, out);
}

void vw_live_announce(const vw_live_args *args, const da_server *server)
{
    if (args->token_file) { // which is the better place for them than somebody's log
        vw_message("live view: %s, with a token of \"%s\"", da_server_address(server),
                   args->token_file);
    } else {
        vw_message("live view: %s", da_server_url(server));
        vw_message("to look at only: %s", da_server_read_url(server));
    }
    if (!args->no_open && !vw_open_browser(da_server_url(server)))
        vw_message("no browser could be started: open the address by hand");
}

// The file itself, as far as it is written.
static cm_status copy_file(const char *path, const atomic_bool *given_up, cm_write_fn write,
                           void *to)
{
    static const size_t part = 65536;
    uint8_t bytes[65536];
    cm_file *file;
    size_t len = part;
    CM_TRY(cm_file_open(path, &file));
    cm_status status = CM_OK;
    for (uint64_t at = 0; status == CM_OK && len == part; at += len) {
        if (atomic_load(given_up)) {
            status = cm_fail(CM_FAILED, "The export was given up.");
            break;
        }
        status = cm_file_read_at(file, at, bytes, part, &len);
        if (status == CM_OK && len)
            status = write(to, bytes, len);
    }
    cm_file_close(file);
    return status;
}

static int64_t to_ns(bool given, double s, int64_t otherwise)
{
    return !given ? otherwise : s <= 0 ? 0 : s < 9e9 ? (int64_t)(s * 1e9 + 0.5) : INT64_MAX;
}

static cm_status export_file(void *context, const da_export *what, cm_write_fn write, void *to)
{
    (void)context;
    if (strcmp(what->format, "ortl") == 0)
        return copy_file(what->file, what->given_up, write, to);
    vw_ex_range range = {to_ns(what->has_from, what->from_s, INT64_MIN),
                         to_ns(what->has_to, what->to_s, INT64_MAX), what->has_session,
                         what->session};
    return vw_ex_stream(what->file, what->format, what->table, range, what->given_up, write, to);
}

static void say(void *context, const char *sentence)
{
    (void)context;
    vw_message("%s", sentence);
}

da_host vw_live_host(void)
{
    return (da_host){.export_file = export_file, .say = say};
}
