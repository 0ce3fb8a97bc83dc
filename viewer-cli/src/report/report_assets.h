// SPDX-License-Identifier: MIT
// The page without its data, made of this folder's files by cmake/embed.cmake when ortscope is
// built.
#pragma once

#include <stddef.h>

extern const unsigned char vw_report_head[], vw_report_tail[];
extern const size_t vw_report_head_size, vw_report_tail_size;
