package core

import (
	"bytes"
	"context"

	"github.com/toolsearch/toolsearch/tool"
)

type imageArgs struct {
	Path string `json:"path"`
}

func (s *Source) image(ctx context.Context, a imageArgs) (*tool.Result, error) {
	name, err := s.rel(a.Path)
	if err != nil {
		return nil, err
	}
	f, info, err := openRegular(s.root, name)
	if err != nil {
		return nil, s.pathError("image", a.Path, err)
	}
	defer f.Close()
	data, err := readUpTo(ctx, f, s.limits.ImageBytes+1)
	if err != nil {
		return nil, s.pathError("image", a.Path, err)
	}
	if len(data) > s.limits.ImageBytes {
		return nil, refuse("Make a smaller copy, for example with exec", "%q has %d bytes; images may have at most %d", shown(a.Path), info.Size(), s.limits.ImageBytes)
	}
	mime := imageType(data)
	if mime == "" {
		return nil, refuse("Use read for text, SVG included; convert other images to PNG first", "%q is not a PNG, JPEG, GIF or WebP image", shown(a.Path))
	}
	return &tool.Result{Content: []tool.Content{tool.Binary(tool.TypeImage, mime, data)}}, nil
}

// imageType tells the MIME type from the first bytes, since a name proves
// nothing. It returns "" for anything that a model API does not take.
func imageType(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")): // PNG specification, 5.2
		return "image/png"
	case bytes.HasPrefix(b, []byte("\xFF\xD8\xFF")): // JPEG: SOI and the next marker
		return "image/jpeg"
	case bytes.HasPrefix(b, []byte("GIF87a")), bytes.HasPrefix(b, []byte("GIF89a")):
		return "image/gif"
	case len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP": // RFC 9649, 2.4
		return "image/webp"
	}
	return ""
}
