// SPDX-License-Identifier: MIT
#pragma once

#include "sim_etw_session.h"

int se_status(void); // prints the machine as JSON
