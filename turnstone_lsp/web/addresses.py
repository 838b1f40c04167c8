"""Which IP addresses are public: our own table beside the standard library's.

`ipaddress.is_global` differs between Python versions and says yes to multicast, to NAT64 and IPv4-compatible forms of
127.0.0.1, to site-local, and to a cloud's metadata service. Here an address is public only if it is global there and
outside every range below.

Sources: the IANA special-purpose address registries (RFC 6890 and later), RFC 6052 and RFC 8215 (NAT64), RFC 3056
(6to4), RFC 4380 (Teredo), and the metadata addresses that cloud providers document.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address

_IPV6_GLOBAL_UNICAST = IPv6Network("2000::/3")
"""All that IANA has given out. NAT64 prefixes, mapped, compatible, unique-local, link-local and SRv6 lie outside."""

_NOT_PUBLIC = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network; 0.0.0.0 connects to the local host on Linux
        "10.0.0.0/8",
        "100.64.0.0/10",  # carriers and overlay networks; neither private nor global for `ipaddress`
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host agent, on an address that looks public
        "169.254.0.0/16",  # link-local, and most metadata services
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; 192.0.0.192 is Oracle's metadata service
        "192.0.2.0/24",
        "192.31.196.0/24",  # AS112 sinks
        "192.52.193.0/24",  # AMT relays
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",  # AS112 sinks
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "2001::/23",  # Teredo, ORCHID, benchmarking, AMT, AS112
        "2001:db8::/32",
        "2002::/16",  # 6to4: an IPv4 address inside
        "2620:4f:8000::/48",  # AS112 sinks
        "3fff::/20",
    )
)


def parse(text: str) -> Address | None:
    """The address in its only accepted spelling: a dotted quad without leading zeros, or IPv6 without a zone."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return None if isinstance(address, IPv6Address) and address.scope_id else address


def is_public(address: Address) -> bool:
    """Whether anyone on the internet may be meant by it, and nobody in this machine's own networks."""
    if not address.is_global or address.is_multicast or address.is_reserved or address.is_unspecified:
        return False
    if isinstance(address, IPv6Address) and (address.scope_id or address not in _IPV6_GLOBAL_UNICAST):
        return False
    return not any(address in network for network in _NOT_PUBLIC)
