"""Addresses of this machine: where a server listens, and its URL for other machines."""

from __future__ import annotations

import errno
import socket
from ipaddress import ip_address

from scalarviz.base.checks import shorten
from scalarviz.errors import InputError

USUAL = 8000  # a port that is easy to type
WAITING = 128  # connections queued by the operating system
LAST_PORT = 65_535
# Addresses reserved for documentation: a socket connected to one reports this machine's address in
# the network; nothing is sent.
ELSEWHERE = {4: ("192.0.2.1", 9), 6: ("2001:db8::1", 9)}


def listening(address: str, port: int | None) -> socket.socket:
    """Return a socket that listens on a numeric address or "localhost", and a port.

    Args:
        address: a numeric address of this machine, or "localhost"
        port: port number; 0 means any free port; None means USUAL, or any free port if USUAL is
            in use

    Raises:
        InputError: if the address or the port is not available.
    """
    address = numeric(address)
    number = USUAL if port is None else port
    if type(number) is not int or not 0 <= number <= LAST_PORT:
        raise InputError(f"a port is a number from 0 to {LAST_PORT}, not {shorten(number)}")
    if ip_address(address).is_multicast or address == "255.255.255.255":
        raise not_here(address)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    both = address == "::" and socket.has_dualstack_ipv6()
    try:
        return socket.create_server(
            (address, number), family=family, backlog=WAITING, dualstack_ipv6=both
        )
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            if port is None:
                return listening(address, 0)
            other = port + 1 if port < LAST_PORT else port - 1
            reason = (
                f"port {port} is used by another program: choose another, such as --port {other}"
            )
        elif error.errno == errno.EACCES:
            reason = f"port {number} is reserved for the system: pass --port with 1024 or more"
        elif error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            raise not_here(address) from None
        else:
            reason = f"no server can listen on {address}, port {number}: {error.strerror or error}"
        raise InputError(reason) from None


def numeric(address: str) -> str:
    """Return an address in numeric form; raise InputError unless it is numeric or "localhost"."""
    if address == "localhost":
        return "127.0.0.1"
    try:
        return str(ip_address(address))
    except ValueError:
        raise InputError(
            "--address takes a numeric address, such as 0.0.0.0 for all addresses of this "
            f"machine, not {shorten(address)}"
        ) from None


def not_here(address: str) -> InputError:
    return InputError(
        f"{address} is not an address of this machine: --address 0.0.0.0 uses all of its addresses"
    )


def is_loopback(address: str) -> bool:
    """Return whether an address is reachable only from this machine."""
    return ip_address(numeric(address)).is_loopback


def url_of(address: str, port: int) -> str:
    return f"http://[{address}]:{port}/" if ":" in address else f"http://{address}:{port}/"


def seen_by_others(address: str) -> str:
    """Return the address at which other machines reach a server; "" if there is no network."""
    asked = ip_address(numeric(address))
    return address_for_others(asked.version) if asked.is_unspecified else str(asked)


def address_for_others(version: int) -> str:
    """Return the address of this machine in its network; "" if there is no network."""
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(ELSEWHERE[version])
            return str(probe.getsockname()[0])
    except OSError:
        return ""
