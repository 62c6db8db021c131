// Command main is the process of the crm example plugin. It speaks MCP over its
// standard streams with nothing but the standard library, so that it runs where
// Go is installed, offline: one JSON-RPC message a line, four methods.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

const contactsFile = "contacts.json"

type contact struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Company string `json:"company"`
	Email   string `json:"email"`
	Stage   string `json:"stage"`
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "crm:", err)
		os.Exit(1)
	}
}

// serve answers requests until its input ends.
func serve(in io.Reader, out io.Writer) error {
	contacts, err := readContacts()
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	answers := json.NewEncoder(out) // ends each message with a newline
	for lines.Scan() {
		var req request
		if err := json.Unmarshal(lines.Bytes(), &req); err != nil {
			return fmt.Errorf("read a message: %w", err)
		}
		if req.ID == nil {
			continue // a notification wants no answer
		}
		if err := answers.Encode(answer(&contacts, req)); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
	return lines.Err()
}

func answer(contacts *[]contact, req request) response {
	res := response{JSONRPC: "2.0", ID: req.ID}
	switch req.Method {
	case "initialize":
		res.Result = json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"crm","version":"1.0.0"}}`)
	case "ping":
		res.Result = struct{}{}
	case "tools/list":
		// The manifest describes the tools; here only their names count.
		res.Result = json.RawMessage(`{"tools":[{"name":"find_contact","inputSchema":{"type":"object"}},{"name":"update_contact","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		res.Result, res.Error = call(contacts, req.Params)
	default:
		res.Error = &rpcError{-32601, "unknown method " + req.Method}
	}
	return res
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type result struct {
	Content           []content `json:"content"`
	StructuredContent any       `json:"structuredContent,omitempty"`
	IsError           bool      `json:"isError,omitempty"`
}

func call(contacts *[]contact, params json.RawMessage) (any, *rpcError) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &rpcError{-32602, err.Error()}
	}
	var value any
	var err error
	switch p.Name {
	case "find_contact":
		value, err = find(*contacts, p.Arguments)
	case "update_contact":
		value, err = update(contacts, p.Arguments)
	default:
		return nil, &rpcError{-32602, "unknown tool " + p.Name}
	}
	if err != nil { // the tool's own failure, which the model reads
		return result{Content: []content{{"text", err.Error()}}, IsError: true}, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, &rpcError{-32603, err.Error()}
	}
	return result{Content: []content{{"text", string(text)}}, StructuredContent: value}, nil
}

type found struct {
	Contacts []contact `json:"contacts"`
	Total    int       `json:"total"` // before the limit
}

func find(contacts []contact, args json.RawMessage) (found, error) {
	a := struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}{Limit: 10}
	if err := json.Unmarshal(args, &a); err != nil {
		return found{}, err
	}
	out := found{Contacts: []contact{}}
	query := strings.ToLower(a.Query)
	for _, c := range contacts {
		if !strings.Contains(strings.ToLower(c.Name+"\n"+c.Company+"\n"+c.Email), query) {
			continue
		}
		if out.Total++; len(out.Contacts) < a.Limit {
			out.Contacts = append(out.Contacts, c)
		}
	}
	return out, nil
}

type updated struct {
	ID      string   `json:"id"`
	Changed []string `json:"changed"`
}

func update(contacts *[]contact, args json.RawMessage) (updated, error) {
	var a contact
	if err := json.Unmarshal(args, &a); err != nil {
		return updated{}, err
	}
	i := slices.IndexFunc(*contacts, func(c contact) bool { return c.ID == a.ID })
	if i < 0 {
		return updated{}, fmt.Errorf("there is no contact %q; find_contact gives the ids", a.ID)
	}
	next := slices.Clone(*contacts)
	out := updated{ID: a.ID, Changed: []string{}}
	if a.Email != "" && a.Email != next[i].Email {
		next[i].Email = a.Email
		out.Changed = append(out.Changed, "email")
	}
	if a.Stage != "" && a.Stage != next[i].Stage {
		next[i].Stage = a.Stage
		out.Changed = append(out.Changed, "stage")
	}
	if err := writeContacts(next); err != nil {
		return updated{}, err
	}
	*contacts = next
	return out, nil
}

func readContacts() ([]contact, error) {
	raw, err := os.ReadFile(contactsFile)
	if err != nil {
		return nil, fmt.Errorf("read the contacts: %w", err)
	}
	var contacts []contact
	if err := json.Unmarshal(raw, &contacts); err != nil {
		return nil, fmt.Errorf("read the contacts in %s: %w", contactsFile, err)
	}
	return contacts, nil
}

// writeContacts replaces the file in one step.
func writeContacts(contacts []contact) error {
	raw, err := json.MarshalIndent(contacts, "", "  ")
	if err != nil {
		return fmt.Errorf("write the contacts: %w", err)
	}
	tmp := contactsFile + ".tmp"
	err = os.WriteFile(tmp, append(raw, '\n'), 0o600)
	if err == nil {
		err = os.Rename(tmp, contactsFile)
	}
	if err != nil {
		return fmt.Errorf("write the contacts: %w", errors.Join(err, os.Remove(tmp)))
	}
	return nil
}
