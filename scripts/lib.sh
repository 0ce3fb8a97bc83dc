# SPDX-License-Identifier: MIT
# Shell functions that all scripts share: where things are, one line per step, and the Wine
# session. Sourced, never run. What must hold: a script that began a Wine session leaves no
# wineserver and no Windows process behind, however it ends.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
BUILD=$ROOT/build
LOGS=$BUILD/logs
ME=$(basename "$0")

# ---- messages ---------------------------------------------------------------------------------

say() {
    printf '%s: %s\n' "$ME" "$*"
}

die() {
    printf '%s: %s\n' "$ME" "$*" >&2
    exit 1
}

# attempt COMMAND...: runs the command so that its first failing line ends it, and leaves how it
# ended in STATUS. To be called on a line of its own: after if, ! or before || and && the shell
# would ignore every failure inside. It runs as a process group of its own, so that when this
# script is interrupted everything in it can be ended.
attempt() {
    set -m
    (
        set -e
        "$@" 7>&- 9>&-
    ) &
    CHILD=$!
    set +m
    STATUS=0
    wait "$CHILD" || STATUS=$?
    CHILD=
}

CHILD=
stop_child() {
    [ -n "$CHILD" ] || return 0
    kill -TERM -- "-$CHILD" 2>/dev/null || true
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        kill -0 -- "-$CHILD" 2>/dev/null || break
        sleep 0.5
    done
    kill -KILL -- "-$CHILD" 2>/dev/null || true
    CHILD=
}

on_exit() {
    stop_child
    wine_end
}
trap on_exit EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# step LABEL COMMAND...: an attempt with the output in a log and one line with the time it took.
# On failure shows the end of the log. The caller looks at STATUS.
step() {
    local label=$1 log start=$SECONDS
    shift
    mkdir -p "$LOGS"
    log=$LOGS/$(printf '%s-%s' "$ME" "$label" | tr -c 'A-Za-z0-9.\n-' '_').log
    attempt "$@" >"$log" 2>&1 </dev/null
    if [ "$STATUS" -eq 0 ]; then
        say "$label ($((SECONDS - start)) s)"
    else
        say "$label FAILED ($((SECONDS - start)) s), the end of ${log#"$ROOT"/}:"
        tail -n "${LOG_LINES:-60}" "$log" | sed 's/^/    /'
    fi
}

# ---- Wine -------------------------------------------------------------------------------------
#
# The prefix lies under build/ and is made once. Whoever uses it holds a shared lock on descriptor
# 9 (which no Windows program inherits). Whoever leaves tries for the exclusive lock: the one that
# gets it was the last, and stops the server with all that still runs in it. So several scripts
# may use the prefix at once, and a script that was killed outright leaves the clean-up to the
# next; the server itself ends a minute after its last program in any case.

wine_env() {
    # Not through a link: Wine takes a prefix by the folder that it is.
    export WINEPREFIX=${ORTSCOPE_WINEPREFIX:-$BUILD/wineprefix}
    export WINEARCH=win64 WINEDEBUG=-all
    export WINEDLLOVERRIDES='mscoree,mshtml=;winemenubuilder.exe,winedbg.exe=d'
    # No window ever has to appear; a display that went away must not make a test fail.
    unset DISPLAY WAYLAND_DISPLAY
    if [ ! -x /usr/lib/wine/wine64 ] || [ ! -x /usr/lib/wine/wineserver ]; then
        die "Wine is not installed: run scripts/setup, then try again."
    fi
    # The loader itself: Debian's wrapper adds a shell and a warning about 32-bit programs.
    export WINELOADER=/usr/lib/wine/wine64 WINESERVER=/usr/lib/wine/wineserver
    # The loader lies at a fixed address, and its heap begins anywhere in the GiB behind it: one time
    # in some thousands where Windows' shared data must lie (0x7ffe0000). Such a program ends with 1,
    # without a word. Whatever Wine starts inherits this.
    WINE_START=(env)
    ! setarch "$(uname -m)" -R true 2>/dev/null || WINE_START=(setarch "$(uname -m)" -R)
}

# Stops the server of our prefix and everything in it, and waits until they are gone.
wine_stop() {
    "$WINESERVER" -k >/dev/null 2>&1 9>&- || true
    timeout 20 "$WINESERVER" -w >/dev/null 2>&1 9>&- || true
}

wine_make_prefix() {
    rm -rf "$WINEPREFIX"
    mkdir -p "$(dirname "$WINEPREFIX")"
    timeout 600 "${WINE_START[@]}" "$WINELOADER" wineboot -i
    timeout 300 "${WINE_START[@]}" "$WINELOADER" winecfg -v win10
    # A crash ends the program at once instead of starting a debugger.
    timeout 300 "${WINE_START[@]}" "$WINELOADER" reg add \
        'HKLM\Software\Microsoft\Windows NT\CurrentVersion\AeDebug' \
        /v Debugger /t REG_SZ /d false /f
    wine_stop
    [ -e "$WINEPREFIX/drive_c/windows/system32/kernel32.dll" ]
    touch "$WINEPREFIX/.ortscope-ready"
}

# Makes the prefix if it is not there. Needs wine_env.
wine_prefix() {
    [ ! -e "$WINEPREFIX/.ortscope-ready" ] || return 0
    mkdir -p "$BUILD" "$LOGS"
    exec 8>"$WINEPREFIX.making"
    flock 8
    if [ ! -e "$WINEPREFIX/.ortscope-ready" ]; then
        attempt wine_make_prefix >"$LOGS/wineprefix.log" 2>&1 </dev/null 8>&-
        if [ "$STATUS" -ne 0 ]; then
            wine_stop
            die "Wine could not make its prefix in $WINEPREFIX: see build/logs/wineprefix.log;" \
                "delete that folder and try again."
        fi
    fi
    exec 8>&-
}

# Begins a session, which on_exit ends. In it Windows programs start fast,
# and no background process of Wine holds the caller's pipes.
wine_begin() {
    wine_env
    wine_prefix
    exec 9>"$WINEPREFIX.users"
    flock -s 9
    WINE_SESSION=1
    # With descriptors of their own, or a pipe on our output would stay open until they end.
    if ! "$WINESERVER" -p60 </dev/null >/dev/null 2>&1 9>&-; then
        return 0 # it runs already, and so do its services
    fi
    timeout 300 "${WINE_START[@]}" "$WINELOADER" cmd /c exit </dev/null >/dev/null 2>&1 9>&- || true
}

wine_end() {
    [ -n "${WINE_SESSION:-}" ] || return 0
    WINE_SESSION=
    flock -u 9
    if flock -n -x 9; then
        wine_stop
    fi
    exec 9>&-
}

# ---- building ---------------------------------------------------------------------------------

configure_and_build() {
    cd "$ROOT"
    cmake --preset "$1"
    # Only the compiler's own words on failure; ninja prints the rest for nobody.
    cmake --build --preset "$1" -- --quiet
}

# build_presets PRESET...: one step each; STATUS tells whether all were built.
build_presets() {
    local preset failed=0
    for preset; do
        step "build $preset" configure_and_build "$preset"
        [ "$STATUS" -eq 0 ] || failed=1
    done
    STATUS=$failed
}
