# SPDX-License-Identifier: MIT
"""A client of the live view, of Python's own library: requests, raw sockets, a WebSocket."""
import base64
import hashlib
import http.client
import json
import os
import re
import socket
import ssl
import struct
import time

TIMEOUT = 120  # seconds; never decides a test but for hanging


def address_of(text):
    """(scheme, host, port, control token, read token) of what ortscope printed, or None."""
    found = re.findall(r"(https?)://(\S+?):(\d+)/\?token=([0-9a-f]{48})", text)
    if len(found) < 2:
        return None
    return found[0][0], found[0][1], int(found[0][2]), found[0][3], found[1][3]


class Client:
    """authority: a file with the certificate that is believed; connect_to: where the server is, if not
    where it says."""

    def __init__(self, text, authority=None, connect_to=None, tokens=None):
        told = address_of(text) if not tokens else (*re.search(
            r"(https?)://(\S+?):(\d+)/", text).groups(), *tokens)
        self.scheme, self.host, self.port, self.control_token, self.read_token = told
        self.port = int(self.port)
        self.name = "%s:%d" % (self.host, self.port)
        self.at = connect_to or self.host.strip("[]")
        self.tls = ssl.create_default_context(cafile=authority) if self.scheme == "https" else None

    def connect(self, tls=None, plain=False):
        """A socket to the server, encrypted as the address says."""
        s = socket.create_connection((self.at, self.port), TIMEOUT)
        s.settimeout(TIMEOUT)
        tls = tls or self.tls
        if plain or not tls:
            return s
        try:
            return tls.wrap_socket(s, server_hostname=self.host.strip("[]"))
        except BaseException:
            s.close()
            raise

    def ask(self, method, path, body=None, token=None, headers=None):
        """(status, headers, bytes). token: None = the control token, "" = none."""
        token = self.control_token if token is None else token
        connection = http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=TIMEOUT)
        connection.sock = self.connect()
        all_headers = {"Authorization": "Bearer " + token} if token else {}
        all_headers.update(headers or {})
        try:
            connection.request(method, path, body, all_headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def json(self, path, status=200, token=None):
        got, _, body = self.ask("GET", path, token=token)
        document = json.loads(body)
        if got != status:
            raise AssertionError("%s: %d instead of %d: %s" % (path, got, status, body[:300]))
        return document

    def control(self, token=None, headers=None, **members):
        got, _, body = self.ask("POST", "/api/v1/control", json.dumps(members), token,
                                {"Content-Type": "application/json", **(headers or {})})
        return got, json.loads(body)

    def raw(self, data, most=1 << 20):
        """What comes back for these bytes, as they are, until the server ends the connection."""
        with self.connect(plain=True) as s:
            got = b""
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                while len(got) < most:
                    part = s.recv(65536)
                    if not part:
                        break
                    got += part
            except OSError as error:  # it ended the connection while we wrote
                if isinstance(error, socket.timeout):
                    raise
            return got

    def stream(self, query="", token=None, headers=None):
        return Stream(self, query, self.control_token if token is None else token, headers)

    def stream_when_room(self, query=""):
        """Those that were closed just now may still count."""
        end = time.monotonic() + TIMEOUT
        while True:
            try:
                return self.stream(query)
            except Refused as refused:
                if refused.args[0] != 503 or time.monotonic() > end:
                    raise
            time.sleep(0.02)


class Refused(Exception):
    pass


class Stream:
    """The WebSocket; raises Refused(status) where it is not opened."""

    def __init__(self, client, query, token, headers):
        key = base64.b64encode(os.urandom(16)).decode()
        lines = {"Host": client.name, "Upgrade": "websocket", "Connection": "Upgrade",
                 "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13", **(headers or {})}
        path = "/ws/metrics?" + "&".join(filter(None, ["token=" + token if token else "", query]))
        self.socket = client.connect()
        self.rest = b""
        self.socket.sendall(("GET %s HTTP/1.1\r\n%s\r\n" % (path, "".join(
            "%s: %s\r\n" % line for line in lines.items()))).encode())
        while b"\r\n\r\n" not in self.rest:
            part = self.socket.recv(4096)
            if not part:
                break
            self.rest += part
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        status = int(head.split()[1]) if head else 0
        if status != 101:
            self.socket.close()
            raise Refused(status)
        wanted = base64.b64encode(hashlib.sha1(
            (key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        assert wanted in head

    def _take(self, count):
        while len(self.rest) < count:
            part = self.socket.recv(65536)
            if not part:
                raise EOFError
            self.rest += part
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def frame(self):
        """(opcode, bytes); EOFError at the end."""
        first, second = self._take(2)
        length = second & 127
        if length == 126:
            length, = struct.unpack(">H", self._take(2))
        elif length == 127:
            length, = struct.unpack(">Q", self._take(8))
        return first & 15, self._take(length)

    def message(self):
        return self.sized_message()[1]

    def sized_message(self):
        """(bytes, document)"""
        while True:
            opcode, data = self.frame()
            if opcode == 1:
                return len(data), json.loads(data)
            if opcode == 8:
                raise EOFError
            if opcode == 9:
                self.send(data, opcode=10)

    def send(self, data, opcode=1, final=True, claim=None):
        """claim: the length that the header tells instead of the real one."""
        length = len(data) if claim is None else claim
        head = bytes([(128 if final else 0) | opcode])
        if length < 126:
            head += bytes([128 | length])
        elif length < 65536:
            head += bytes([128 | 126]) + struct.pack(">H", length)
        else:
            head += bytes([128 | 127]) + struct.pack(">Q", length)
        mask = os.urandom(4)
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def ends(self):
        """Reads on until the server ends the connection."""
        try:
            while True:
                if self.frame()[0] == 8:
                    return True
        except (EOFError, ConnectionResetError):
            return True
        except socket.timeout:
            return False

    def close(self):
        self.socket.close()
