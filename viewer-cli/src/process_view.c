// SPDX-License-Identifier: MIT
#include "process_view.h"

void vw_process_json(cm_json *j, const inj_process *p)
{
    cm_json_key_text(j, "ort_version", p->ort_version);
    cm_json_key_text(j, "ort_module", p->ort_module);
    cm_json_key_bool(j, "can_attach", p->can_attach == CM_OK && !p->attached);
    cm_json_key_text(j, "why_not", p->why_not);
    cm_json_key(j, "attached_by_pid");
    if (p->attached)
        cm_json_uint(j, p->collector_pid);
    else
        cm_json_null(j);
}
