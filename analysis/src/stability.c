// SPDX-License-Identifier: MIT
// Whether a session's latency stayed what it was (see an_stability).
#include "analysis/summary.h"
#include "analysis_util.h"

#include <math.h>
#include <stdlib.h>

#define STEADY 0.05 // changes within it are none

cm_status an_session_stability(const an_session *s, an_stability *out)
{
    size_t warmup = an_series_warmup(&s->series), left = s->series.count - warmup;
    size_t half = left / 2;
    an_interval shift;
    double *logs = malloc((left + 1) * sizeof *logs);
    if (!logs)
        return an_no_memory();
    for (size_t i = 0; i < left; i++) {
        double value = s->series.points[warmup + i].value;
        logs[i] = log(value > 1 ? value : 1);
    }
    cm_status status = an_shift_interval(logs, half, logs + (left - half), half, 0.05, &shift);
    free(logs);
    if (status != CM_OK)
        return status;
    an_interval drift = {exp(shift.value), exp(shift.low), exp(shift.high)};
    bool bounded = an_interval_bounded(shift) && an_known(shift.value);
    *out = (an_stability){warmup, drift, "inconclusive"};
    if (bounded && drift.low > 1 && drift.value > 1 + STEADY / 2)
        out->verdict = "slower";
    else if (bounded && drift.high < 1 && drift.value < 1 - STEADY / 2)
        out->verdict = "faster";
    else if (bounded && drift.low > 1 - STEADY && drift.high < 1 + STEADY)
        out->verdict = "steady";
    return CM_OK;
}
