// SPDX-License-Identifier: MIT
// `ortscope completion bash|powershell`: a script that completes command lines, made from the
// tables that the parser and the help use, so that it knows what they know.
#include "commands.h"

#include <ctype.h>
#include <string.h>

// ----------------------------------------------------------------------------------- what there is

static void put_quoted(cm_out *out, const char *text, size_t len)
{
    cm_out_char(out, '\'');
    for (size_t i = 0; i < len; i++)
        cm_out_text(out, text[i] == '\'' ? "''" : (char[]){text[i], 0});
    cm_out_char(out, '\'');
}

// The words of "N|auto|off" that are values themselves: those in small letters. Returns how many.
static size_t put_words(cm_out *out, const char *text, const char *separator, bool quoted)
{
    size_t count = 0;
    while (text && *text) {
        size_t len = strcspn(text, "|");
        bool is_word = len > 0;
        for (size_t i = 0; i < len; i++)
            is_word = is_word && (islower((unsigned char)text[i]) || text[i] == '-');
        if (is_word) {
            cm_out_text(out, count++ ? separator : "");
            if (quoted)
                put_quoted(out, text, len);
            else
                cm_out_bytes(out, text, len);
        }
        text += len + (text[len] == '|');
    }
    return count;
}

static bool has_words(const char *text)
{
    cm_out nowhere;
    cm_out_init_memory(&nowhere);
    size_t count = put_words(&nowhere, text, "", false);
    cm_out_deinit(&nowhere);
    return count > 0;
}

static bool takes_files(const vw_option *o)
{
    return o->value && strcmp(o->value, "FILE") == 0;
}

// What the operands of a command are, by its usage.
typedef enum operand_kind { OTHERS, TIMELINES, RECORDINGS, COMMANDS, WORDS } operand_kind;

static operand_kind operands_of(const vw_command *c)
{
    if (strstr(c->usage, "FILE.etl"))
        return RECORDINGS;
    if (strstr(c->usage, "FILE") || strstr(c->usage, "OLD"))
        return TIMELINES;
    if (strstr(c->usage, "COMMAND"))
        return COMMANDS;
    return strchr(c->usage, ' ') == NULL && has_words(c->usage) ? WORDS : OTHERS;
}

typedef void (*each_fn)(cm_out *out, const vw_command *c, const vw_option *o);

static void each_option(cm_out *out, const vw_command *c, each_fn put)
{
    for (size_t i = 0; i < c->option_count; i++)
        put(out, c, &c->options[i]);
    for (size_t i = 0; i < vw_common_option_count && !c->raw; i++)
        put(out, c, &vw_common_options[i]);
}

// -------------------------------------------------------------------------------------------- bash

static const char bash_head[] =
    "# Completes `ortscope` in bash. For all shells to come:\n"
    "#   ortscope completion bash > ~/.local/share/bash-completion/completions/ortscope\n"
    "_ortscope() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local command=${COMP_WORDS[1]} words= pattern=\n"
    "    if [[ $current == = ]]; then\n"
    "        current=\n"
    "    elif [[ $before == = ]]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        command=\n"
    "        before=\n"
    "    fi\n"
    "    case \"$command $before\" in\n";

static const char bash_tail[] =
    "    esac\n"
    "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
    "    if [[ $pattern ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        local IFS=$'\\n'\n"
    "        COMPREPLY+=($(compgen -f -X \"!$pattern\" -- \"$current\")\n"
    "                    $(compgen -d -- \"$current\"))\n"
    "        ((${#COMPREPLY[@]})) || COMPREPLY=($(compgen -f -- \"$current\"))\n"
    "    fi\n"
    "}\n"
    "complete -F _ortscope ortscope ortscope.exe\n";

static void bash_value(cm_out *out, const vw_command *c, const vw_option *o)
{
    if (o->type == VW_FLAG)
        return;
    cm_out_printf(out, "    \"%s --%s\"", c->name, o->name);
    if (o->letter)
        cm_out_printf(out, " | \"%s -%c\"", c->name, o->letter);
    cm_out_text(out, ") ");
    if (takes_files(o)) {
        cm_out_text(out, "pattern='*' ;;\n");
        return;
    }
    cm_out_text(out, "words=\"");
    put_words(out, o->value, " ", false);
    cm_out_text(out, "\" ;;\n");
}

static void bash_option(cm_out *out, const vw_command *c, const vw_option *o)
{
    (void)c;
    cm_out_printf(out, "--%s ", o->name);
}

static void bash_commands(cm_out *out)
{
    for (size_t i = 0; vw_commands[i]; i++)
        cm_out_printf(out, "%s%s", i ? " " : "", vw_commands[i]->name);
}

static void bash_command(cm_out *out, const vw_command *c)
{
    cm_out_printf(out, "    \"%s \"*)\n        if [[ $current == -* ]]; then words=\"", c->name);
    each_option(out, c, bash_option);
    cm_out_text(out, "--help\"; else ");
    switch (operands_of(c)) {
    case TIMELINES:
        cm_out_text(out, "pattern='*.ortl'");
        break;
    case RECORDINGS:
        cm_out_text(out, "pattern='*.etl'");
        break;
    case COMMANDS:
        cm_out_text(out, "words=\"");
        bash_commands(out);
        cm_out_text(out, "\"");
        break;
    case WORDS:
        cm_out_text(out, "words=\"");
        put_words(out, c->usage, " ", false);
        cm_out_text(out, "\"");
        break;
    case OTHERS:
        cm_out_text(out, c->operands_end_options ? "pattern='*'" : ":");
        break;
    }
    cm_out_text(out, "; fi ;;\n");
}

static void write_bash(cm_out *out)
{
    cm_out_text(out, bash_head);
    cm_out_text(out, "    \" \") words=\"");
    bash_commands(out);
    cm_out_text(out, " --help --version\" ;;\n");
    for (size_t i = 0; vw_commands[i]; i++)
        each_option(out, vw_commands[i], bash_value);
    for (size_t i = 0; vw_commands[i]; i++)
        bash_command(out, vw_commands[i]);
    cm_out_text(out, bash_tail);
}

// -------------------------------------------------------------------------------------- PowerShell

static const char powershell_head[] =
    "# Completes `ortscope` in PowerShell. For all shells to come:\n"
    "#   ortscope completion powershell >> $PROFILE\n"
    "Register-ArgumentCompleter -Native -CommandName 'ortscope', 'ortscope.exe' -ScriptBlock {\n"
    "    param($word, $tree, $cursor)\n";

// What is not answered is completed by file names, as PowerShell does by itself.
static const char powershell_tail[] =
    "    $line = @($tree.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } |\n"
    "        ForEach-Object { $_.Extent.Text })\n"
    "    $command = if ($line.Count -gt 1) { $line[1] } else { '' }\n"
    "    $key = $command + ' ' + $line[-1]\n"
    "    $found = @(if (-not $command) { $commands }\n"
    "        elseif ($values.ContainsKey($key)) { $values[$key] }\n"
    "        elseif ($word -like '-*') { $options[$command] }\n"
    "        elseif ($operands.ContainsKey($command)) { $operands[$command] })\n"
    "    foreach ($item in $found) {\n"
    "        if ($item[0] -like \"$word*\") {\n"
    "            [System.Management.Automation.CompletionResult]::new(\n"
    "                $item[0], $item[0], 'ParameterValue', $item[1])\n"
    "        }\n"
    "    }\n"
    "}\n";

static void powershell_pair(cm_out *out, const char *name, const char *help)
{
    cm_out_text(out, "        , @(");
    put_quoted(out, name, strlen(name));
    cm_out_text(out, ", ");
    put_quoted(out, help, strlen(help));
    cm_out_text(out, ")\n");
}

static void powershell_option(cm_out *out, const vw_command *c, const vw_option *o)
{
    (void)c;
    char name[64] = "--";
    strncat(name, o->name, sizeof name - 3);
    powershell_pair(out, name, o->help);
}

// Lists of one word and twice the same are pairs too: a word is its own help.
static void powershell_words(cm_out *out, const char *text)
{
    while (text && *text) {
        char word[64] = "";
        size_t len = strcspn(text, "|");
        if (len < sizeof word)
            memcpy(word, text, len);
        if (has_words(word))
            powershell_pair(out, word, word);
        text += len + (text[len] == '|');
    }
}

static void powershell_value(cm_out *out, const vw_command *c, const vw_option *o)
{
    if (o->type == VW_FLAG || !has_words(o->value))
        return;
    cm_out_printf(out, "    $values['%s --%s'] = @(\n", c->name, o->name);
    powershell_words(out, o->value);
    cm_out_text(out, "    )\n");
    if (o->letter)
        cm_out_printf(out, "    $values['%s -%c'] = $values['%s --%s']\n", c->name, o->letter,
                      c->name, o->name);
}

static void write_powershell(cm_out *out)
{
    cm_out_text(out, powershell_head);
    cm_out_text(out, "    $options = @{}\n    $values = @{}\n    $operands = @{}\n");
    cm_out_text(out, "    $commands = @(\n");
    for (size_t i = 0; vw_commands[i]; i++)
        powershell_pair(out, vw_commands[i]->name, vw_commands[i]->one_line);
    cm_out_text(out, "    )\n");
    for (size_t i = 0; vw_commands[i]; i++) {
        const vw_command *c = vw_commands[i];
        cm_out_printf(out, "    $options['%s'] = @(\n", c->name);
        each_option(out, c, powershell_option);
        powershell_pair(out, "--help", "print how to use it");
        cm_out_text(out, "    )\n");
        each_option(out, c, powershell_value);
        if (operands_of(c) == COMMANDS) {
            cm_out_printf(out, "    $operands['%s'] = $commands\n", c->name);
        } else if (operands_of(c) == WORDS) {
            cm_out_printf(out, "    $operands['%s'] = @(\n", c->name);
            powershell_words(out, c->usage);
            cm_out_text(out, "    )\n");
        }
    }
    cm_out_text(out, powershell_tail);
}

// -------------------------------------------------------------------------------------- the
// command

static int run_completion(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)args;
    (void)operand_count;
    if (strcmp(operands[0], "bash") == 0)
        write_bash(&io->out);
    else if (strcmp(operands[0], "powershell") == 0)
        write_powershell(&io->out);
    else
        return vw_failure(cm_fail(CM_USAGE,
                                  "There are completions for bash and powershell, not "
                                  "for \"%s\".",
                                  operands[0]));
    return 0;
}

const vw_command vw_command_completion = {
    .name = "completion",
    .one_line = "Prints a script that completes command lines in a shell.",
    .usage = "bash|powershell",
    .details = "The script goes into the shell's start-up files, or is tried at once:",
    .examples = "source <(ortscope completion bash)\n"
                "ortscope completion powershell | Out-String | Invoke-Expression",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_completion,
};
