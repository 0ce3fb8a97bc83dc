#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The dashboard's page against a scripted server: its numbers, its controls, its states, its operators,
its manners. Arguments: the folder of the page, that of uPlot's files, words of test names."""
import pathlib
import sys
import tempfile

import checks
from page_attach import Attaching
from page_controls import Controls
from page_manners import Manners
from page_numbers import Numbers
from page_operators import Operators
from page_states import States


class Tests(Numbers, Controls, Attaching, States, Operators, Manners):
    pass


if __name__ == "__main__":
    Tests.folders = [pathlib.Path(a) for a in sys.argv[1:3]]
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(checks.run(Tests, folder, sys.argv[3:]))
