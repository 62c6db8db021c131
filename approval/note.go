package approval

import "context"

type noteKey struct{}

// WithNote has f told too of what is decided about the calls under the context,
// beside Options.Note: of the transcript that a call stands in, which the maker of
// a Gate does not know.
func WithNote(ctx context.Context, f func(context.Context, Note)) context.Context {
	return context.WithValue(ctx, noteKey{}, f)
}

func (g *Gate) note(ctx context.Context, n Note) {
	g.opt.Note(ctx, n)
	if f, ok := ctx.Value(noteKey{}).(func(context.Context, Note)); ok {
		f(ctx, n)
	}
}
