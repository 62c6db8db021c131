package tool

import "strings"

// ImageType tells an image's MIME type by its first bytes, since a name proves
// nothing. It knows the kinds that model APIs take, and returns "" for any other.
func ImageType(b []byte) string {
	head := string(b[:min(len(b), 12)])
	switch {
	case strings.HasPrefix(head, "\x89PNG\r\n\x1a\n"): // PNG specification, 5.2
		return "image/png"
	case strings.HasPrefix(head, "\xFF\xD8\xFF"): // JPEG: SOI and the next marker
		return "image/jpeg"
	case strings.HasPrefix(head, "GIF87a"), strings.HasPrefix(head, "GIF89a"):
		return "image/gif"
	case len(head) == 12 && head[:4] == "RIFF" && head[8:] == "WEBP": // RFC 9649, 2.4
		return "image/webp"
	}
	return ""
}
