"""A wire between a server and its database that can be cut, slowed down or made to hang."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress


class Proxy:
    """Forwards loopback connections to ``target`` until told otherwise."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._flows = threading.Event()
        self._flows.set()
        self._is_cut = False
        self._delay_s = 0.0
        self._pairs: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Connections break; new ones are closed at once."""
        self._is_cut = True
        self._break()

    def hang(self) -> None:
        """Connections stay open and nothing comes through."""
        self._flows.clear()

    def slow(self, delay_s: float) -> None:
        """Whatever the other side answers comes through so much later."""
        self._delay_s = delay_s

    def mend(self) -> None:
        if not self._flows.is_set():
            self._break()
        self._is_cut = False
        self._delay_s = 0.0
        self._flows.set()

    def close(self) -> None:
        self.cut()
        self._flows.set()
        self._listener.close()

    def _break(self) -> None:
        pairs, self._pairs = self._pairs, []
        for one in pairs:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(near,), daemon=True).start()

    def _join(self, near: socket.socket) -> None:
        try:
            if self._is_cut:
                raise ConnectionRefusedError
            far = socket.create_connection(self.target)
        except OSError:
            near.close()
            return
        for one in (near, far):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pairs = [one for one in self._pairs if one.fileno() >= 0] + [near, far]
        threading.Thread(target=self._carry, args=(near, far, False), daemon=True).start()
        self._carry(far, near, True)

    def _carry(self, source: socket.socket, sink: socket.socket, is_answer: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if is_answer and self._delay_s:
                    time.sleep(self._delay_s)
                self._flows.wait()
                sink.sendall(data)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        source.close()
