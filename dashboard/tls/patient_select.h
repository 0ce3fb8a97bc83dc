// SPDX-License-Identifier: MIT
// Windows only. select() for CivetWeb and for ourselves that waits by an event: the server of Wine
// 8 fails an assertion and ends, with every program in it, when the time limit of a real select
// expires at the wrong moment. Without a limit of its own a select never comes there.
#pragma once

#include <winsock2.h>

// As select; what it needs to wait fails to be had: as after the time limit, at once.
int da_patient_select(int ignored, fd_set *to_read, fd_set *to_write, fd_set *failed,
                      const struct timeval *limit);
