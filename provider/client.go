package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ClientConfig says which API a Client asks, and how.
type ClientConfig struct {
	// Format is the wire format. Required.
	Format Format
	// BaseURL is the API's address as its vendor prints it, such as
	// "https://api.openai.com/v1". Required.
	BaseURL string
	// Key returns the key; it is asked for at every attempt, so that a key that is
	// changed counts at once. nil means that the API wants none.
	Key func(context.Context) (string, error)
	// HTTP sends the requests; nil means NewHTTPClient(). Its redirect policy is
	// not used: see Client.
	HTTP *http.Client
	// Headers are added to every request, and win over the Client's own.
	Headers http.Header
	Retry   Retry
	// IdleTimeout bounds the silence of an answer that has begun; 0 means 5
	// minutes. A model may think for minutes between two pieces.
	IdleTimeout time.Duration
	// MaxBody bounds an answer that comes whole; 0 means 32 MiB. One that is
	// streamed may have eight times as many bytes, since each token brings a frame.
	MaxBody int64
}

// Client asks one model API. It is safe for concurrent use.
//
// The key stands in the headers of a request and nowhere else: an error that
// would repeat it is changed. A redirect is followed only to the same host, and
// only as the same request (307 and 308), since it carries the key.
type Client struct {
	cfg    ClientConfig
	url    string
	where  string // url as an error may name it
	client *http.Client
}

// NewClient checks the configuration. It does not connect.
func NewClient(cfg ClientConfig) (*Client, error) {
	if cfg.Format == nil {
		return nil, errors.New("create a model client: no format is given")
	}
	u, err := endpoint(cfg.BaseURL, cfg.Format.Path())
	if err != nil {
		return nil, fmt.Errorf("create a model client: base URL: %w", err)
	}
	cfg.Retry = cfg.Retry.withDefaults()
	if cfg.IdleTimeout <= 0 {
		cfg.IdleTimeout = 5 * time.Minute
	}
	if cfg.MaxBody <= 0 {
		cfg.MaxBody = 32 << 20
	}
	cfg.Headers = cfg.Headers.Clone()
	if cfg.HTTP == nil {
		cfg.HTTP = NewHTTPClient()
	}
	c := *cfg.HTTP
	c.CheckRedirect = sameHost
	where := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return &Client{cfg: cfg, url: u.String(), where: where.String(), client: &c}, nil
}

// endpoint joins an API's address and the path of a format. A version that both
// name is joined once, and an address that is complete is kept.
func endpoint(base, path string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("it is not a URL") // the cause would repeat it, with a password in it
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New(`it must begin with "https://" or "http://" and a host`)
	case u.User != nil:
		return nil, errors.New("it holds a user or password: give the key as apiKey instead")
	case u.Fragment != "":
		return nil, errors.New("it has a fragment (#)")
	}
	have := strings.TrimRight(u.Path, "/")
	if strings.HasSuffix(have, path) {
		return u, nil
	}
	if rest, ok := strings.CutPrefix(path, "/v1/"); ok && strings.HasSuffix(have, "/v1") {
		path = rest
	}
	return u.JoinPath(path), nil
}

// Generate implements Model. An error that the API gave is an *Error in the
// chain, with what came in its Body.
func (c *Client) Generate(ctx context.Context, r *Request, emit func(Event) error) (*Response, error) {
	body, err := c.cfg.Format.EncodeRequest(r)
	if err != nil {
		return nil, fmt.Errorf("write a request for %s: %w", c.where, err)
	}
	if emit == nil || !r.Stream {
		emit = func(Event) error { return nil }
	}
	for n := 1; ; n++ {
		a := attempt{client: c, body: body, stream: r.Stream, emit: emit}
		resp, err := a.run(ctx)
		if err == nil {
			return resp, nil
		}
		if a.emitErr != nil {
			return nil, a.emitErr
		}
		if ctx.Err() != nil {
			return nil, c.wrap(n, ended(ctx))
		}
		wait, again := c.cfg.Retry.wait(n, err)
		if !again {
			return nil, c.wrap(n, err)
		}
		if !sleep(ctx, wait) {
			if ctx.Err() != nil {
				err = ended(ctx)
			}
			return nil, c.wrap(n, err)
		}
	}
}

// ended is the error of a context that ended, with its cause.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

func (c *Client) wrap(attempts int, err error) error {
	if attempts == 1 {
		return fmt.Errorf("the model API at %s: %w", c.where, err)
	}
	return fmt.Errorf("the model API at %s, asked %d times: %w", c.where, attempts, err)
}
