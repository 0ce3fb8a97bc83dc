// SPDX-License-Identifier: MIT
// Commands and their options as data: one parser for all of them, and help text made from the same
// tables. Options are long (`--limit 5`, `--limit=5`) and may have a letter (`-o FILE`); `--` ends
// them; they may stand before or after the operands.
#pragma once

#include "output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Each type fills one kind of field in the command's args struct, which starts out all zero.
typedef enum vw_option_type {
    VW_FLAG,     // bool
    VW_TEXT,     // const char *, borrowed from argv
    VW_WORDS,    // the same; "" if another option, or nothing, follows
    VW_FACTOR,   // the same; "" unless a number follows
    VW_COUNT,    // vw_number: a whole number of at least 0
    VW_DURATION, // vw_number: seconds, or with a unit: 250ms, 1.5s, 2m, 1h
    VW_LIST,     // vw_list: may be given several times
} vw_option_type;

typedef struct vw_number {
    bool given;
    int64_t count;
    double seconds;
} vw_number;

#define VW_LIST_MOST 16

typedef struct vw_list {
    size_t count;
    const char *texts[VW_LIST_MOST]; // borrowed from argv
} vw_list;

typedef struct vw_option {
    const char *name; // without the dashes
    char letter;      // 0: none
    vw_option_type type;
    size_t offset; // of the field in the args struct
    // What its value is called in the help, NULL for flags. FILE is completed by files; words in
    // small letters between bars are the values themselves: "N|auto", "all|off".
    const char *value;
    const char *help;
} vw_option;

typedef struct vw_command vw_command;

struct vw_command {
    const char *name;
    const char *one_line; // for the list of commands
    const char *usage;    // what stands behind the name: "[options] FILE"
    // Paragraphs for `help NAME`, may be NULL. Lines are filled anew, but those that begin with a
    // blank stay as they are.
    const char *details;
    const char *examples; // command lines, one a line, "# what for" behind them
    const vw_option *options;
    size_t option_count;
    size_t args_size; // of the struct that `run` gets, at most VW_MAX_ARGS_SIZE
    int min_operands, max_operands;
    bool operands_end_options; // what follows the first operand belongs to somebody else
    bool raw;                  // nothing is parsed: all arguments are operands
    // Returns the exit code.
    int (*run)(vw_io *io, const void *args, int operand_count, char **operands);
};

#define VW_MAX_ARGS_SIZE 1024

// Options that every command has.
typedef struct vw_common {
    bool ascii;
    const char *color;
} vw_common;

extern const vw_option vw_common_options[];
extern const size_t vw_common_option_count;

typedef struct vw_parsed {
    bool help; // --help or -h was among them: nothing else counts
    vw_common common;
    int operand_count;
    char **operands; // the front part of argv, which is put in order
} vw_parsed;

// argv is what follows the command's name. Failures are CM_USAGE with the nearest name.
cm_status vw_parse(const vw_command *command, int argc, char **argv, void *args, vw_parsed *out);

// "250ms", "1.5s", "2m"; a number without a unit is seconds. False: none of these.
bool vw_parse_duration(const char *text, double *out_seconds);

void vw_print_command_help(vw_io *io, const vw_command *command);

// Fills lines of io->width with the words of `text`, indented; the first line has `column` columns
// already. Ends the last line.
void vw_fill(vw_io *io, const char *text, size_t indent, size_t column);

// The nearest of `count` names (each at the start of an item of `stride` bytes), NULL if none is
// near.
const char *vw_nearest(const char *word, const void *names, size_t count, size_t stride);
