package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var errBadMessage = errors.New("it sent something that is no MCP message")

// decodeMessage reads one JSON-RPC message. The SDK's own decoder spends at
// least 32 KiB on each message and refuses results that are nested more than
// 1,000 deep; the results of proxied calls never reach it.
func decodeMessage(data []byte) (jsonrpc.Message, error) {
	var wire struct {
		Version string          `json:"jsonrpc"`
		ID      any             `json:"id"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   *jsonrpc.Error  `json:"error"`
	}
	bad := func(why string) error { return fmt.Errorf("%w: %s: %q", errBadMessage, why, sampleOf(data)) }
	if err := json.Unmarshal(data, &wire); err != nil {
		return nil, bad("it does not decode")
	}
	if wire.Version != "2.0" {
		return nil, bad("it does not say that it is JSON-RPC 2.0")
	}
	id, err := jsonrpc.MakeID(wire.ID)
	if err != nil {
		return nil, bad("its id is neither a number nor a string")
	}
	switch {
	case wire.Method != nil:
		return &jsonrpc.Request{ID: id, Method: *wire.Method, Params: wire.Params}, nil
	case !id.IsValid():
		return nil, bad("it has neither a method nor an id")
	case wire.Error != nil:
		return &jsonrpc.Response{ID: id, Error: wire.Error}, nil
	case wire.Result == nil:
		return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the answer has neither a result nor an error"}}, nil
	}
	return &jsonrpc.Response{ID: id, Result: wire.Result}, nil
}
