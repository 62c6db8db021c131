package core

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// refusedPrefixes are the addresses that are not for the public, by the IANA
// special-purpose registries (RFC 6890 and its updates), and those by which
// clouds hand credentials to their machines.
var refusedPrefixes = sync.OnceValue(func() []refusedPrefix {
	table := []struct{ prefix, why string }{
		{"0.0.0.0/8", "this host or network"},
		{"10.0.0.0/8", "private"},
		{"100.64.0.0/10", "shared by carriers (CGNAT)"},
		{"127.0.0.0/8", "loopback"},
		{"168.63.129.16/32", "cloud metadata"},
		{"169.254.0.0/16", "link-local, where cloud metadata is served"},
		{"172.16.0.0/12", "private"},
		{"192.0.0.0/24", "reserved for protocols"},
		{"192.0.2.0/24", "documentation"},
		{"192.88.99.0/24", "6to4 relay"},
		{"192.168.0.0/16", "private"},
		{"198.18.0.0/15", "benchmarking"},
		{"198.51.100.0/24", "documentation"},
		{"203.0.113.0/24", "documentation"},
		{"224.0.0.0/4", "multicast"},
		{"240.0.0.0/4", "reserved, or broadcast"},
		// Of IPv6, 2000::/3 alone is public; see refusal. Inside it:
		{"2001::/23", "reserved for protocols (Teredo, benchmarking, ORCHID)"},
		{"2001:db8::/32", "documentation"},
		{"2002::/16", "6to4"},
		{"3fff::/20", "documentation"},
		// These lie outside 2000::/3; they are listed for the reason they give.
		{"::/128", "unspecified"},
		{"::1/128", "loopback"},
		{"64:ff9b::/96", "NAT64"},
		{"64:ff9b:1::/48", "local NAT64"},
		{"100::/64", "discard"},
		{"fc00::/7", "unique local (private)"},
		{"fe80::/10", "link-local"},
		{"fec0::/10", "site-local"},
		{"ff00::/8", "multicast"},
	}
	out := make([]refusedPrefix, len(table))
	for i, row := range table {
		out[i] = refusedPrefix{netip.MustParsePrefix(row.prefix), row.why}
	}
	return out
})

type refusedPrefix struct {
	prefix netip.Prefix
	why    string
}

// refusal says why web_fetch must not connect to the address, "" if it may.
func refusal(ip netip.Addr) string {
	if ip.Is4In6() {
		return "IPv4-mapped"
	}
	ip = ip.WithZone("")
	for _, r := range refusedPrefixes() {
		if r.prefix.Contains(ip) {
			return r.why
		}
	}
	if ip.Is6() && !netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20}), 3).Contains(ip) {
		return "outside the public IPv6 space"
	}
	if !ip.IsValid() {
		return "not an address"
	}
	return ""
}

// refusedAddress is the error of a connection that was not made.
type refusedAddress struct {
	addr string
	why  string
}

func (e *refusedAddress) Error() string {
	return fmt.Sprintf("address %s is refused: %s", e.addr, e.why)
}

// guard dials public addresses on allowed ports only.
type guard struct {
	dialer net.Dialer
	ports  map[uint16]bool
	allow  func(netip.AddrPort) bool
}

func newGuard(opt Options) guard {
	g := guard{ports: map[uint16]bool{80: true, 443: true}, allow: opt.AllowAddress}
	for _, p := range opt.FetchPorts {
		g.ports[p] = true
	}
	g.dialer = net.Dialer{Timeout: 10 * time.Second, Resolver: opt.Resolver, ControlContext: g.control}
	return g
}

// control is called with every address that a socket is about to connect to,
// after names were looked up. No check made earlier could say as much.
func (g guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return &refusedAddress{address, "not TCP"}
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refusedAddress{address, "not an address"}
	}
	return g.check(at)
}

func (g guard) check(at netip.AddrPort) error {
	if g.allow != nil && g.allow(at) {
		return nil
	}
	if why := refusal(at.Addr()); why != "" {
		return &refusedAddress{at.Addr().String(), why}
	}
	if !g.ports[at.Port()] {
		return &refusedAddress{at.String(), "port not allowed"}
	}
	return nil
}

// refusedBy finds the refusal in an error of the HTTP client.
func refusedBy(err error) *refusedAddress {
	var r *refusedAddress
	if errors.As(err, &r) {
		return r
	}
	return nil
}
