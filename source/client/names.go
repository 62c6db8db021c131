package client

import (
	"fmt"
	"strings"
)

// Taken are the names that a client tool may not bear.
type Taken struct {
	Controls []string
	Core     []string
	// Cataloged are the names of the tools behind search: to be given in directory
	// mode only, where client tools stand beside a listing of them.
	Cataloged []string
}

// maxListed bounds the collisions that an error spells out.
const maxListed = 50

// Collision is a client tool's name that something else bears.
type Collision struct {
	Name string
	With string // what bears it, such as "a core tool"
}

// CollisionError says which names of client tools are taken. It fails the run.
type CollisionError struct{ Names []Collision }

// Error lists every name, up to 50 of them.
func (e *CollisionError) Error() string {
	var b strings.Builder
	for i, c := range e.Names {
		if i == maxListed {
			fmt.Fprintf(&b, ", and %d more", len(e.Names)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q (%s)", c.Name, c.With)
	}
	return "these names of your tools are taken: " + b.String() + "; rename them"
}

// CheckNames returns a *CollisionError when a client tool bears the name of
// another one or a name that is taken, and else nil. Names are compared as they
// are written.
func CheckNames(defs []Def, taken Taken) error {
	with := map[string]string{}
	for _, list := range []struct {
		names []string
		what  string
	}{{taken.Cataloged, "a tool in the catalog"}, {taken.Core, "a core tool"}, {taken.Controls, "a control"}} {
		for _, name := range list.names {
			with[name] = list.what // the last list is the strongest reason
		}
	}
	var found []Collision
	times := make(map[string]int, len(defs))
	for _, d := range defs {
		times[d.Name]++
		switch what := with[d.Name]; {
		case times[d.Name] == 1 && what != "":
			found = append(found, Collision{d.Name, what})
		case times[d.Name] == 2 && what == "":
			found = append(found, Collision{d.Name, "another of your tools"})
		}
	}
	if found == nil {
		return nil
	}
	return &CollisionError{Names: found}
}
