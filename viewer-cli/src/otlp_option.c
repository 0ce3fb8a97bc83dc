// SPDX-License-Identifier: MIT
#include "otlp_option.h"

bool vw_otlp_given(const vw_otlp_args *args)
{
    return args->url || args->interval.given || args->headers.count;
}

cm_status vw_read_otlp(const vw_otlp_args *args, da_otlp_options *out)
{
    double interval = args->interval.given ? args->interval.seconds : DA_OTLP_INTERVAL_S;
    if (!args->url && vw_otlp_given(args))
        return cm_fail(CM_USAGE, "--otlp-interval and --otlp-header belong to --otlp URL.");
    if (!(interval >= 1 && interval <= 3600))
        return cm_fail(CM_USAGE, "--otlp-interval takes 1s to 1h.");
    *out = (da_otlp_options){.url = args->url,
                             .interval_s = interval,
                             .headers = args->headers.texts,
                             .header_count = args->headers.count};
    return CM_OK;
}
