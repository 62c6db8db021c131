package modelapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
	"github.com/toolsearch/toolsearch/turn"
)

// sessionHeader names the conversation, for clients that know theirs.
const sessionHeader = "X-Toolsearch-Session"

// exchange is one request to a model and its answer.
type exchange struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	format provider.Format
	caller Caller
	req    *provider.Request
	body   int64 // bytes of the request, which are of the budget
	size   int   // bytes of the conversation, about
	id     string
	stream *stream // nil when the answer comes whole
}

// generate answers POST of one model API.
func (s *Server) generate(w http.ResponseWriter, r *http.Request, c Caller, f provider.Format) {
	x := &exchange{server: s, w: w, r: r, format: f, caller: c, id: newID(f.API())}
	defer func() { s.bodies.give(c.Name, x.body) }()
	if refused := x.read(); refused != nil {
		s.refuse(w, r, refused)
		return
	}
	if x.req.Stream {
		x.stream = s.newStream(w, f, provider.Response{ID: x.id, Model: x.req.Model}, x.req)
		defer x.stream.close()
	}
	run, step, err := x.run(r.Context())
	if err != nil {
		x.fail(err)
		return
	}
	x.answer(run, step)
}

// read reads the request, and puts the conversation in front that it goes on
// from.
func (x *exchange) read() *provider.Error {
	body, refused := x.server.readBody(x.w, x.r, x.caller)
	if refused != nil {
		return refused
	}
	x.body = int64(len(body))
	if !utf8.Valid(body) { // readers differ in what they make of it, and the model's API may be the one that fails
		return refusal(http.StatusBadRequest, "the request is not valid UTF-8")
	}
	req, err := x.format.DecodeRequest(body)
	if err != nil {
		var e *provider.Error
		if !errors.As(err, &e) {
			e = refusal(http.StatusBadRequest, tool.Clean(err.Error(), tool.MaxErrorText))
		}
		return e
	}
	x.req, x.size = req, len(body)+sizeOf(req.Messages)
	if v := x.r.Header.Get(sessionHeader); v != "" && !validSession(v) {
		return refusal(http.StatusBadRequest, fmt.Sprintf("the header %s takes 1–%d visible characters", sessionHeader, maxSession))
	}
	if e := refuseThread(req); e != nil {
		return e
	}
	if e := x.lookUp(); e != nil {
		return e
	}
	if req.Previous == "" {
		return nil
	}
	before, e := x.before(req.Previous)
	if e != nil {
		return e
	}
	// The id is ours: no model API knows it. Instructions are those of this
	// request, and stand first.
	n := 0
	for n < len(req.Messages) && isInstructions(req.Messages[n]) {
		n++
	}
	req.Messages = slices.Concat(req.Messages[:n], before, req.Messages[n:])
	req.Previous = ""
	return nil
}

// noResponse says that there is no such response of this caller's, and why there
// may be none.
func (x *exchange) noResponse(id string) *provider.Error {
	why := "it is older than a day, had to make way for newer ones, or its request said store: false"
	if x.server.kept.to == nil {
		why += ", or the server was started again since"
	}
	e := refusal(http.StatusBadRequest, fmt.Sprintf("Previous response with id %q not found: it is not yours, %s; send the whole conversation as input", tool.Clean(id, 100), why))
	e.Type, e.Param, e.Code = "invalid_request_error", "previous_response_id", "previous_response_not_found"
	return e
}

// refuseThread refuses a conversation that the Messages API would keep on its
// side: to go on with the new messages alone would be to forget the others.
// Anthropic's client reads the details, and sends the whole conversation.
func refuseThread(req *provider.Request) *provider.Error {
	if thread := req.Fields.Get("thread"); req.API != provider.Messages || len(thread) == 0 || string(thread) == "null" {
		return nil
	}
	e := refusal(http.StatusBadRequest, "thread: conversations are not kept here; send all messages of the conversation, without thread")
	e.Details = json.RawMessage(`{"error_code":"thread_unsupported_request","unsupported":["thread"]}`)
	return e
}

// run takes up the run that waits for these answers, or begins one.
func (x *exchange) run(ctx context.Context) (Run, *turn.Step, error) {
	var emit func(provider.Event) error
	if x.stream != nil {
		emit = x.stream.event
	}
	if kept, in := x.held(); kept != nil {
		run := kept.run
		step, err := next(ctx, run, in, emit)
		var wrong *turn.AnswerError
		switch {
		case errors.As(err, &wrong):
			x.server.held.put(&heldRun{key: kept.key, caller: kept.caller, calls: kept.calls, bytes: kept.bytes, run: run})
			return nil, nil, refusal(http.StatusBadRequest, wrong.Error())
		case errors.Is(err, turn.ErrOver): // it came to its end while it was held
		case err != nil:
			run.Close()
			return nil, nil, err
		default:
			return run, step, nil
		}
	}
	run, err := x.server.opt.Backend.Start(ctx, RunRequest{Request: *x.req, Caller: x.caller, Session: x.r.Header.Get(sessionHeader)})
	if err != nil {
		return nil, nil, err
	}
	step, err := next(ctx, run, turn.Input{}, emit)
	if err != nil {
		run.Close()
		return nil, nil, err
	}
	return run, step, nil
}

// next goes on with a run. One that panics is closed: nobody else knows of it.
func next(ctx context.Context, run Run, in turn.Input, emit func(provider.Event) error) (*turn.Step, error) {
	returned := false
	defer func() {
		if !returned {
			run.Close()
		}
	}()
	step, err := run.Next(ctx, in, emit)
	returned = true
	return step, err
}

// answer sends what the run has come to, and holds it if it waits for answers.
// A run that nobody can answer, since the caller did not hear of its calls, is
// let go, also when what writes the answer panics.
func (x *exchange) answer(run Run, step *turn.Step) {
	letGo := run.Close
	defer func() { letGo() }()
	resp := *step.Response
	resp.ID = x.id
	if x.req.Model != "" {
		resp.Model = x.req.Model // as the caller knows it
	}
	if step.Limit != nil {
		x.server.logger.Warn("a run was ended by a limit", "limit", step.Limit.Limit, "caller", x.caller.Name)
	}
	if len(step.Calls) == 0 {
		run.Close()
		letGo = func() {}
		_ = x.send(&resp) // the answer was the last of it, whether it arrives or not
		return
	}
	// Before the caller hears of the calls: it may answer at once.
	calls := idsOfCalls(step.Calls)
	key := x.key(x.req.Messages, calls)
	letGo = func() { x.server.held.drop(key, run) }
	x.server.held.put(&heldRun{key: key, caller: x.caller.Name, calls: calls, bytes: x.size, run: run})
	if x.send(&resp) == nil {
		letGo = func() {}
	}
}

func (x *exchange) send(resp *provider.Response) error {
	if x.stream != nil {
		return x.stream.finish(resp, x.remember)
	}
	raw, err := x.format.EncodeResponse(resp)
	if err != nil {
		x.fail(fmt.Errorf("write the answer: %w", err))
		return err
	}
	if x.req.API == provider.Responses {
		var body struct {
			Output []json.RawMessage `json:"output"`
		}
		if err := json.Unmarshal(raw, &body); err != nil {
			x.fail(fmt.Errorf("read the answer as written: %w", err))
			return err
		}
		x.remember(body.Output)
	}
	writeJSON(x.w, http.StatusOK, raw)
	return x.r.Context().Err()
}

// remember keeps the conversation for previous_response_id and its items for
// references, as the caller has read them, unless the caller asks that nothing
// be stored. What came as instructions is not inherited.
func (x *exchange) remember(output []json.RawMessage) {
	if string(x.req.Fields.Get("store")) == "false" {
		return
	}
	raw, err := tool.Encode(struct {
		Output []json.RawMessage `json:"output"`
	}{output})
	if err != nil {
		x.server.logger.Error("an answer cannot be kept", "error", err)
		return
	}
	said, err := x.format.DecodeResponse(raw)
	if err != nil {
		x.server.logger.Error("an answer cannot be kept", "error", err)
		return
	}
	messages := slices.DeleteFunc(slices.Clone(x.req.Messages), isInstructions)
	key, size := pastKey{x.caller.Name, x.id}, x.size+len(raw)
	x.server.past.put(key, messages, said.Output, size)
	x.server.kept.put(key, slices.Concat(messages, said.Output), size)
}

// lookUp puts what is kept in the place of references to it. Others stay: the
// model's API may know them. A reference is short and an item may be long, so what
// a request becomes is bounded.
func (x *exchange) lookUp() *provider.Error {
	if x.req.API != provider.Responses {
		return nil
	}
	grown := 0
	for i, m := range x.req.Messages {
		if len(m.Blocks) != 1 || m.Blocks[0].Type != "item_reference" {
			continue
		}
		o, err := tool.SplitObject(m.Raw)
		if err != nil {
			continue
		}
		id, _ := tool.ReadString(o.Get("id"))
		if said, ok := x.server.past.item(pastKey{x.caller.Name, id}); ok {
			if grown += len(said.Raw); grown > maxPastBytes {
				e := refusal(http.StatusRequestEntityTooLarge, fmt.Sprintf("the items that input refers to have more than %d bytes together", maxPastBytes))
				e.Type, e.Param = "invalid_request_error", "input"
				return e
			}
			x.req.Messages[i] = said
		}
	}
	x.size += grown
	return nil
}

// isInstructions reports what Responses has in its field instructions, and not
// as an item of its input: those are objects.
func isInstructions(m provider.Message) bool {
	return m.Role == provider.System && !bytes.HasPrefix(bytes.TrimSpace(m.Raw), []byte("{"))
}

// fail answers with what went wrong.
func (x *exchange) fail(err error) {
	e := x.errorOf(err)
	if x.stream == nil || !x.stream.fail(e) {
		x.server.refuse(x.w, x.r, e)
	}
}

// errorOf is what the caller hears. What a model API refused is passed on, but
// that it does not take our key: the caller would think of its own. What failed
// here is for the log, but for an answer that is not whole.
func (x *exchange) errorOf(err error) *provider.Error {
	var e *provider.Error
	var broken *provider.BrokenError
	switch {
	case errors.As(err, &broken) && x.r.Context().Err() == nil:
		x.server.logger.Error("a model's answer broke off", "path", x.r.URL.Path, "caller", x.caller.Name, "error", err)
		return x.brokeOff()
	case errors.As(err, &e) && (e.Status != http.StatusUnauthorized || e.API == ""):
		return e
	case e != nil:
		x.server.logger.Error("a model API does not take its key", "path", x.r.URL.Path, "caller", x.caller.Name, "error", err)
		return refusal(http.StatusBadGateway, "the model's API does not take the key that this server has for it; the server's log says more")
	case x.r.Context().Err() != nil: // the client has left, or the server shuts down
		return refusal(http.StatusServiceUnavailable, "the request was cancelled")
	case errors.Is(err, context.DeadlineExceeded):
		return refusal(http.StatusGatewayTimeout, "the model did not answer in time")
	}
	x.server.logger.Error("a request to a model failed", "path", x.r.URL.Path, "caller", x.caller.Name, "error", err)
	if x.stream != nil && x.stream.partial() { // in a later round: the client knows of one answer
		return x.brokeOff()
	}
	return refusal(http.StatusBadGateway, "the model could not be asked; the server's log says more")
}

// brokeOff is the refusal of an answer that had begun.
func (x *exchange) brokeOff() *provider.Error {
	message := "the model's answer broke off after it had begun; send the request again"
	if x.stream != nil && x.stream.partial() {
		message = "the model's answer broke off after it had begun: what you received is only a part of it; leave it aside and send the request again"
	}
	e := refusal(http.StatusBadGateway, message)
	e.Code = "stream_cut"
	return e
}

// newID makes an id in the manner of an API.
func newID(a provider.API) string {
	prefix := map[provider.API]string{provider.Chat: "chatcmpl-", provider.Responses: "resp_", provider.Messages: "msg_"}[a]
	return provider.NewID(prefix)
}
