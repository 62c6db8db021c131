package core

import (
	"fmt"
	"time"
)

// Limits bound the tools. A zero field means its default. A field below zero or
// above its hard bound makes New fail: no limit can be switched off.
type Limits struct {
	ReadBytes       int // text that one read returns; default 256 KiB, at most 4 MiB
	WriteBytes      int // content that one write takes; default 1 MiB, at most 16 MiB
	EditBytes       int // size of a file that edit changes; default 4 MiB, at most 32 MiB
	ImageBytes      int // size of an image; default 5 MiB, at most 20 MiB
	ListEntries     int // entries that one list returns; default 1000, at most 10000
	GrepMatches     int // matches that one grep returns; default 500, at most 5000
	GrepFileBytes   int // bytes of one file that grep searches; default 16 MiB, at most 64 MiB
	ExecOutputBytes int // bytes kept of each output stream; default 64 KiB, at most 1 MiB
	FetchBytes      int // bytes of a page that are downloaded; default 2 MiB, at most 16 MiB
	FetchTextBytes  int // bytes of text that one fetch returns; default 100 KiB, at most 1 MiB

	ExecTimeout    time.Duration // when the call names none; default 60 s, at most 10 min
	ExecMaxTimeout time.Duration // the longest a call may ask for; default 10 min, at most 10 min
	FetchTimeout   time.Duration // for a whole fetch with its redirects; default 20 s, at most 2 min
}

const (
	kib = 1 << 10
	mib = 1 << 20
)

// resolve replaces zero by the defaults and refuses what is out of bounds.
func (l Limits) resolve() (Limits, error) {
	sizes := []struct {
		name      string
		field     *int
		def, most int
	}{
		{"ReadBytes", &l.ReadBytes, 256 * kib, 4 * mib},
		{"WriteBytes", &l.WriteBytes, mib, 16 * mib},
		{"EditBytes", &l.EditBytes, 4 * mib, 32 * mib},
		{"ImageBytes", &l.ImageBytes, 5 * mib, 20 * mib},
		{"ListEntries", &l.ListEntries, 1000, 10000},
		{"GrepMatches", &l.GrepMatches, 500, 5000},
		{"GrepFileBytes", &l.GrepFileBytes, 16 * mib, 64 * mib},
		{"ExecOutputBytes", &l.ExecOutputBytes, 64 * kib, mib},
		{"FetchBytes", &l.FetchBytes, 2 * mib, 16 * mib},
		{"FetchTextBytes", &l.FetchTextBytes, 100 * kib, mib},
	}
	for _, s := range sizes {
		if *s.field == 0 {
			*s.field = s.def
		}
		if *s.field < 0 || *s.field > s.most {
			return l, fmt.Errorf("limit %s is %d; it must be from 1 to %d, or 0 for the default %d", s.name, *s.field, s.most, s.def)
		}
	}
	times := []struct {
		name      string
		field     *time.Duration
		def, most time.Duration
	}{
		{"ExecTimeout", &l.ExecTimeout, time.Minute, 10 * time.Minute},
		{"ExecMaxTimeout", &l.ExecMaxTimeout, 10 * time.Minute, 10 * time.Minute},
		{"FetchTimeout", &l.FetchTimeout, 20 * time.Second, 2 * time.Minute},
	}
	for _, t := range times {
		if *t.field == 0 {
			*t.field = t.def
		}
		if *t.field < 0 || *t.field > t.most {
			return l, fmt.Errorf("limit %s is %v; it must be above 0 and at most %v, or 0 for the default %v", t.name, *t.field, t.most, t.def)
		}
	}
	l.ExecTimeout = min(l.ExecTimeout, l.ExecMaxTimeout)
	return l, nil
}

// capped returns asked, or def when nothing was asked for, but never more than
// def, which is the configured limit.
func capped(asked integer, def int) int {
	if asked <= 0 || int64(asked) > int64(def) {
		return def
	}
	return int(asked)
}
