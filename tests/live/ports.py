# SPDX-License-Identifier: MIT
"""Ports for servers that tests start."""
import contextlib
import random
import socket


def free_port():
    """Below those that the system gives to clients: nobody takes it before it is bound."""
    for port in random.sample(range(20000, 32000), 200):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")
