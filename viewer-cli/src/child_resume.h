// SPDX-License-Identifier: MIT
// Lets a child run whose parent died before it could.
//
// The hook starts children suspended and lets them go when we have answered. A parent that is
// killed while it waits for the answer leaves a child that nobody would ever resume.
#pragma once

#include "injector/injector.h"

// Resumes the first thread of `child` once, if it is suspended. Only for a child that
// inj_open_child has opened and whose parent is gone.
cm_status vw_child_resume(const inj_target *child);
