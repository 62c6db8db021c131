package telemetry

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolsearch/toolsearch/tool"
)

// metrics are the instruments. Prometheus holds the values; exports for
// OpenTelemetry read them from there, so that both tell the same.
type metrics struct {
	searches, emptySearches, describes, dropped prometheus.Counter
	calls, blocked                              *prometheus.CounterVec
	searchTime                                  prometheus.Histogram
	callTime                                    *prometheus.HistogramVec
	catalog, bytes                              *prometheus.GaugeVec

	tools, blockers names
}

func newMetrics(r *prometheus.Registry) (*metrics, error) {
	m := &metrics{
		searches: counter(metricSearches()), emptySearches: counter(metricEmptySearches()),
		describes: counter(metricDescribes()), dropped: counter(metricDropped()),
		calls:   prometheus.NewCounterVec(prometheus.CounterOpts(opts(metricCalls())), []string{labelTool, labelSource, labelOutcome}),
		blocked: prometheus.NewCounterVec(prometheus.CounterOpts(opts(metricBlocked())), []string{labelBy}),
		searchTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: metricSearchTime().prometheus, Help: metricSearchTime().help,
			// A search takes 20 µs to 20 ms.
			Buckets: []float64{.00002, .00005, .0001, .0002, .0005, .001, .002, .005, .01, .02, .05, .1, .5},
		}),
		callTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: metricCallTime().prometheus, Help: metricCallTime().help,
			// From a function in this process to the slowest server.
			Buckets: []float64{.0001, .0005, .002, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{labelSource, labelOutcome}),
		catalog:  prometheus.NewGaugeVec(prometheus.GaugeOpts(opts(metricCatalog())), []string{labelSource}),
		bytes:    prometheus.NewGaugeVec(prometheus.GaugeOpts(opts(metricBytes())), []string{labelView}),
		tools:    names{most: MaxToolNames},
		blockers: names{most: maxBlockers},
	}
	var err error
	for _, c := range []prometheus.Collector{
		m.searches, m.emptySearches, m.describes, m.dropped, m.calls, m.blocked, m.searchTime, m.callTime, m.catalog, m.bytes,
	} {
		err = errors.Join(err, r.Register(c))
	}
	return m, err
}

func opts(m metric) prometheus.Opts { return prometheus.Opts{Name: m.prometheus, Help: m.help} }

func counter(m metric) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts(opts(m)))
}

// names bounds the values of a label: the first ones keep their names, and
// later ones share otherName.
type names struct {
	most int
	mu   sync.RWMutex
	seen map[string]string // as it came → as it is shown
}

// get returns what a metric calls name.
func (n *names) get(name string) string {
	n.mu.RLock()
	shown, ok := n.seen[name]
	full := len(n.seen) >= n.most
	n.mu.RUnlock()
	if ok {
		return shown
	}
	if full {
		return otherName
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if shown, ok = n.seen[name]; ok {
		return shown
	}
	if len(n.seen) >= n.most {
		return otherName
	}
	if n.seen == nil {
		n.seen = map[string]string{}
	}
	shown = tool.Clean(name, maxText)
	n.seen[name] = shown
	return shown
}
