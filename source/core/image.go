package core

import (
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
	mime := tool.ImageType(data)
	if mime == "" {
		return nil, refuse("Use read for text, SVG included; convert other images to PNG first", "%q is not a PNG, JPEG, GIF or WebP image", shown(a.Path))
	}
	return &tool.Result{Content: []tool.Content{tool.Binary(tool.TypeImage, mime, data)}}, nil
}
