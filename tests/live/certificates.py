# SPDX-License-Identifier: MIT
"""Certificates and keys of every kind that somebody may give, made by openssl for each test."""
import os
import subprocess

NAMES = "subjectAltName=DNS:localhost,DNS:lab.example,IP:127.0.0.1,IP:127.0.0.2,IP:::1"
CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")


class Certificates:
    """Paths by name: `rsa.pem` and `rsa.key`, and so on."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self.make("rsa", "-newkey", "rsa:2048")
        self.make("ec", *CURVE)

    def __getitem__(self, name):
        return os.path.join(self.folder, name)

    def options(self, name):
        return ["--tls-cert", self[name + ".pem"], "--tls-key", self[name + ".key"]]

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], check=True, cwd=self.folder, timeout=300,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def make(self, name, *kind, more=()):
        """Signed by itself."""
        self.openssl("req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=" + name, "-addext", NAMES,
                     *kind, "-keyout", name + ".key", "-out", name + ".pem", *more)

    def make_signed(self):
        """`signed.*`, behind whose certificate stands that of `authority`."""
        self.openssl("req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=authority", *CURVE,
                     "-keyout", "authority.key", "-out", "authority.pem")
        self.openssl("req", "-new", "-nodes", "-subj", "/CN=localhost", *CURVE, "-keyout", "signed.key",
                     "-out", "signed.csr")
        self.write("names", NAMES.encode())
        self.openssl("x509", "-req", "-in", "signed.csr", "-CA", "authority.pem", "-CAkey",
                     "authority.key", "-CAcreateserial", "-days", "30", "-extfile", "names", "-out",
                     "own.pem")
        self.write("signed.pem", self.read("own.pem") + self.read("authority.pem"))
        self.write("turned.pem", self.read("authority.pem") + self.read("own.pem"))

    def make_encrypted(self):
        self.openssl("pkcs8", "-topk8", "-in", "ec.key", "-out", "pkcs8.key", "-passout", "pass:x")
        self.openssl("rsa", "-aes256", "-traditional", "-in", "rsa.key", "-out", "traditional.key",
                     "-passout", "pass:x")

    def read(self, name):
        with open(self[name], "rb") as file:
            return file.read()

    def write(self, name, data):
        with open(self[name], "wb") as file:
            file.write(data)
        return self[name]
