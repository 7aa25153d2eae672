#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""Clients of a control socket, well-behaved and not.

control-client.py change NAME COUNT     changes settings so many times, each of which must be taken
control-client.py misuse NAME SECONDS   sends nonsense, halves of lines and floods, slowly and not
"""
import json
import random
import socket
import sys
import time

# Settings that lose no command and give no error to one write at a time for each zone.
CHOICES = {
    "reorder": ["0", "2", "7"],
    "reorder_time": ["10us", "1ms", "2ms"],
    "reorder_conv": ["0", "1"],
    "hold": ["0", "1", "16"],
    "hold_time": ["10ms", "1s"],
    "delay_read": ["0", "1ms"],
    "delay_write": ["0", "500us"],
    "delay_sync": ["0", "2ms"],
    "rate": ["0", "512M"],
    "seek": ["0", "1ms"],
    "cache": ["0", "64K", "16M"],
    "trace": ["0", "16", "65536"],
    "stats": ["0", "1"],
    "error": ["off", "medium@read@lba500000-500001"],
}
CLIENTS = 20
REQUESTS = ["version", "help", "get", "config", "stats", "trace", "set seed=", "zone 1- wp="]


def connect(name: str) -> socket.socket:
    """A connection to the LUN's socket."""
    client = socket.socket(socket.AF_UNIX)
    client.connect(f"/run/memzbc/{name}.sock")
    return client


def change(name: str, count: int) -> None:
    """Changes a few keys at a time."""
    with connect(name) as client, client.makefile("rw") as stream:
        for number in range(count):
            keys = random.sample(sorted(CHOICES), random.randint(1, 4))
            words = [f"{key}={random.choice(CHOICES[key])}" for key in keys]
            print("set", *words, f"seed={number}", file=stream, flush=True)
            answer = json.loads(stream.readline())
            assert answer["ok"] and answer["settings"]["seed"] == number, (words, answer)


def misuse_once(client: socket.socket) -> None:
    """Sends something, and perhaps reads something."""
    kind = random.randrange(6)
    if kind == 0:
        client.send(random.randbytes(random.randint(1, 6000)))
    elif kind == 1:
        client.send(random.choice(REQUESTS).encode() + random.randbytes(8))
    elif kind == 2:
        client.send(b"help\nstats\n" * 500)
    elif kind == 3:
        client.send(random.choice(REQUESTS).encode()[:3])
    elif kind == 4:
        client.send(b"\n" * 1000)
    else:
        client.recv(random.randint(1, 10000))


def misuse(name: str, seconds: float) -> None:
    """More clients than are let in, each of which may stop reading or leave at any time."""
    end = time.monotonic() + seconds
    clients: list[socket.socket] = []
    while time.monotonic() < end:
        if len(clients) < CLIENTS:
            clients.append(connect(name))
            clients[-1].setblocking(False)
        client = random.choice(clients)
        try:
            misuse_once(client)
        except BlockingIOError:
            time.sleep(0.001)
        except OSError:
            clients.remove(client)
            client.close()
        if random.randrange(50) == 0:
            clients.remove(client) if client in clients else None
            client.close()
    for client in clients:
        client.close()


if __name__ == "__main__":
    {"change": change, "misuse": misuse}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
