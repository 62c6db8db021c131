package modelapi

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guard returns why a request is refused before anybody asks who sends it, or
// "". A web page must not reach the server through its visitor's browser: not
// from another site, and not by a name that was bent to this machine's address.
func (s *Server) guard(r *http.Request) string {
	if len(s.keys) == 0 {
		// Whoever is on this machine may ask: so it has to be this machine.
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !peer.Addr().Unmap().IsLoopback() {
			return "this server has no keys, so it answers programs of its own machine alone; configure serve.keys"
		}
		if !loopbackHost(r.Host) {
			return "this server has no keys, so it answers under localhost and 127.0.0.1 alone; configure serve.keys"
		}
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		// A page gets at some things without an Origin, such as a script by its
		// address; but then every browser says that it is another site's.
		if site := r.Header.Get("Sec-Fetch-Site"); site == "" || site == "none" || site == "same-origin" {
			return ""
		}
		return "requests of pages of other origins are not answered"
	}
	if len(origins) == 1 {
		if u, err := url.Parse(origins[0]); err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
			return ""
		}
	}
	return "requests of pages of other origins are not answered"
}

// loopbackHost reports whether a Host header names this machine.
func loopbackHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// CheckListener refuses an address that other machines reach while there are no
// keys.
func CheckListener(addr net.Addr, keys int) error {
	if keys > 0 {
		return nil
	}
	ap, err := netip.ParseAddrPort(addr.String())
	if err == nil && ap.Addr().Unmap().IsLoopback() {
		return nil
	}
	return &OpenError{Addr: addr.String()}
}

// OpenError tells that a server without keys would be open to other machines.
type OpenError struct{ Addr string }

// Error names the address.
func (e *OpenError) Error() string {
	return "listen on " + e.Addr + ": other machines reach it, and no key is configured"
}
