package cli

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/toolsearch/toolsearch/call"
	"github.com/toolsearch/toolsearch/catalog"
	"github.com/toolsearch/toolsearch/internal/config"
	"github.com/toolsearch/toolsearch/internal/telemetry"
	"github.com/toolsearch/toolsearch/surface"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// telemetryStop bounds how long a program that ends waits for the receiver.
const telemetryStop = 3 * time.Second

// watching is the telemetry of a program that runs for long. The zero value
// watches nothing.
type watching struct {
	tel     *telemetry.Telemetry // nil when off
	metrics http.Handler         // for /metrics; nil unless configured. Who asks is to be checked before it.
	std     *streams
}

// openTelemetry makes what the configuration asks for.
func (a *app) openTelemetry(c config.Telemetry) (watching, error) {
	if !c.Enabled {
		return watching{}, nil
	}
	to, err := c.Resolve(os.LookupEnv)
	if err != nil {
		return watching{}, err
	}
	headers := make(map[string]string, len(to.Headers))
	for _, h := range to.Headers {
		headers[h.Name] = h.Value
	}
	w := watching{std: a.std}
	w.tel, err = telemetry.New(telemetry.Options{
		OTLPEndpoint: to.Endpoint, Headers: headers, Insecure: c.Insecure, ServiceName: c.Service, Logger: a.logger(),
	})
	if err != nil {
		return watching{}, hintError{fmt.Errorf("open the telemetry: %w", err), "mend the section telemetry of the configuration"}
	}
	if c.Prometheus {
		w.metrics = w.tel.Handler()
	}
	return w, nil
}

// stage sees every call; nil when off.
func (w watching) stage() call.Stage {
	if w.tel == nil {
		return nil
	}
	return w.tel.Stage()
}

// observer is told of searches and describes; nil when off.
func (w watching) observer() surface.Observer {
	if w.tel == nil {
		return nil
	}
	return w.tel
}

// startRun begins the span under which the calls of a run stand.
func (w watching) startRun(ctx context.Context, o call.Origin, v *surface.View) (context.Context, func(error)) {
	mode := ""
	if v != nil {
		mode = string(v.Mode)
	}
	return w.tel.StartRun(ctx, o, mode)
}

// follow reports the bytes of each plan until stop. It counts them beside the
// planning, of the latest plan alone: thousands of definitions take a while.
func (w watching) follow(set *toolset) (stop func()) {
	if w.tel == nil {
		return func() {}
	}
	changed := make(chan struct{}, 1)
	changed <- struct{}{} // the plan that there is; before others come, which nobody takes yet
	done := make(chan struct{})
	unsubscribe := set.Subscribe(func(*turn.Plan) {
		select {
		case changed <- struct{}{}:
		default: // the one that waits will see this plan
		}
	})
	var counting sync.WaitGroup
	counting.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-changed:
				w.planned(set)
			}
		}
	})
	return func() {
		unsubscribe()
		close(done)
		counting.Wait()
	}
}

// planned reports what the model would see now. It does not look at the surface:
// that would settle what mode auto chooses.
func (w watching) planned(set *toolset) {
	plan, err := set.Plan()
	if err != nil {
		return // nothing is shown; the program says why
	}
	limits := catalog.Limits{Default: set.search.SearchDefaultLimit, Max: set.search.MaxSearchLimit}
	bytes := bytesOf(plan, plan.View.Visible(limits))
	p := telemetry.Planned{Catalog: map[tool.Source]int{}, SurfaceBytes: bytes.Surface, DirectBytes: bytes.Direct}
	if c := plan.View.Catalog; c != nil {
		p.Catalog = c.Sources()
	}
	w.tel.Planned(p)
}

// close sends what waits to be sent.
func (w watching) close() {
	ctx, cancel := context.WithTimeout(context.Background(), telemetryStop)
	defer cancel()

	if err := w.tel.Shutdown(ctx); err != nil {
		fmt.Fprintf(w.std.err, "warning: %v\n", err)
	}
}
