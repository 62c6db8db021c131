package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"

	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/modelapi"
)

// checkModels looks at what is needed to ask each model API. It asks none: that
// could cost money.
func checkModels(models config.Models) []check {
	var checks []check
	for _, p := range models.Providers {
		c := check{Name: "model API " + p.Name, server: true}
		r, err := p.Resolve(os.LookupEnv)
		switch {
		case p.API == "":
			c.Detail = "its api is not spoken here, so it is not used"
		case err != nil:
			c.Detail = err.Error()
		default:
			c.OK, c.Detail = true, fmt.Sprintf("%s at %s, %s, %s", p.API, hostOf(r.BaseURL), modelCount(p), keyWords(r))
		}
		checks = append(checks, c)
	}
	return checks
}

// hostOf leaves out what could be a secret.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its baseUrl"
	}
	return u.Scheme + "://" + u.Host
}

func modelCount(p config.Provider) string {
	if len(p.Models) == 0 {
		return "any model"
	}
	if len(p.Models) == 1 {
		return "1 model"
	}
	return fmt.Sprintf("%d models", len(p.Models))
}

func keyWords(r config.ResolvedProvider) string {
	if r.APIKey == "" {
		return "no key"
	}
	return "with a key"
}

// checkServe looks at who may ask 'toolsearch serve'. Of one with neither keys
// nor an address of its own there is nothing to say.
func checkServe(cfg config.Serve) []check {
	c := check{Name: "serve"}
	keys, err := resolveKeys(cfg.Keys)
	if err != nil {
		c.Detail, c.Hint = err.Error(), "'toolsearch serve' does not start without them"
		return []check{c}
	}
	var open *modelapi.OpenError
	if addr, err := net.ResolveTCPAddr("tcp", cfg.Listen); err == nil && errors.As(modelapi.CheckListener(addr, len(keys)), &open) {
		c.Detail, c.Hint = open.Error(), "configure serve.keys, or listen on 127.0.0.1"
		return []check{c}
	}
	if len(keys) == 0 {
		return nil
	}
	c.OK, c.Detail = true, fmt.Sprintf("%d keys for %s", len(keys), cfg.Listen)
	return []check{c}
}
