// SPDX-License-Identifier: MIT
// Windows' event tracing in `ortscope doctor`, and QNN's measurements, which come that way only.
#include "doctor.h"

#include "collector/etw.h"

static vw_check *add_finding(vw_checks *c, const char *name, const co_etw_finding *f)
{
    vw_state state = f->answer == CO_ETW_AVAILABLE       ? VW_WORKS
                     : f->answer == CO_ETW_NOT_AVAILABLE ? VW_NOT_HERE
                                                         : VW_MISSING;
    vw_check *check = vw_check_add(c, name, state, "%s", f->sentence);
    vw_check_fix(check, "%s", f->fix);
    return check;
}

static const vw_check *check_sessions(vw_checks *c)
{
    co_etw_findings findings;
    co_etw_check(&findings);
    add_finding(c, "ETW kernel", &findings.kernel);
    return add_finding(c, "ETW ort", &findings.ort);
}

void vw_check_etw(vw_checks *c, const co_facts *facts)
{
    const vw_check *ort = check_sessions(c);
    vw_state state = ort->state;
    if (!co_facts_find(facts, "npu", 0, "name")) {
        vw_check_add(c, "QNN", VW_NOT_HERE, "no NPU");
        return;
    }
    vw_check *qnn = vw_check_add(c, "QNN", state,
                                 state == VW_WORKS ? "what the provider measures, with --etw ort"
                                                   : "needs ETW ort, which does not work here");
    if (state == VW_MISSING)
        vw_check_fix(qnn, "%s", ort->fix);
}
