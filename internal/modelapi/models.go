package modelapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/toolsearch/toolsearch/provider"
	"github.com/toolsearch/toolsearch/tool"
)

// A model's age is not known; the first moment of Unix time stands for it.
const unknownDate = "1970-01-01T00:00:00Z"

// openAIModel is a model as GET /v1/models of OpenAI's API lists it.
type openAIModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// anthropicModel is a model as GET /v1/models of Anthropic's API lists it.
type anthropicModel struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	CreatedAt   string `json:"created_at"`
}

func forOpenAI(m Model) openAIModel { return openAIModel{m.ID, "model", 0, m.Provider} }

func forAnthropic(m Model) anthropicModel {
	name := m.Name
	if name == "" {
		name = m.ID
	}
	return anthropicModel{"model", m.ID, name, unknownDate}
}

// anthropicAsks reports a client of Anthropic's, by the header it must send.
func anthropicAsks(r *http.Request) bool { return r.Header.Get("Anthropic-Version") != "" }

func (s *Server) listModels(w http.ResponseWriter, r *http.Request, _ Caller) {
	models := s.opt.Backend.Models()
	if anthropicAsks(r) {
		page, err := pageOf(models, r.URL.Query())
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		s.encode(w, r, page)
		return
	}
	list := struct {
		Object string        `json:"object"`
		Data   []openAIModel `json:"data"`
	}{"list", make([]openAIModel, 0, len(models))}
	for _, m := range models {
		list.Data = append(list.Data, forOpenAI(m))
	}
	s.encode(w, r, list)
}

// modelPage is one page of Anthropic's list.
type modelPage struct {
	Data    []anthropicModel `json:"data"`
	HasMore bool             `json:"has_more"`
	FirstID *string          `json:"first_id"`
	LastID  *string          `json:"last_id"`
}

// pageOf picks a page by limit (1–1000, default 20), after_id and before_id.
func pageOf(models []Model, q url.Values) (*modelPage, *provider.Error) {
	limit := 20
	if v := q.Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 1000 {
			e := refusal(http.StatusBadRequest, "limit must be between 1 and 1000")
			e.Param = "limit"
			return nil, e
		}
		limit = n
	}
	start, end := 0, len(models)
	for i, m := range models {
		if id := q.Get("after_id"); id != "" && m.ID == id {
			start = i + 1
		}
		if id := q.Get("before_id"); id != "" && m.ID == id {
			end = i
		}
	}
	page := &modelPage{Data: []anthropicModel{}}
	if q.Get("before_id") != "" { // the page that ends there
		page.HasMore = end-start > limit
		start = max(start, end-limit)
	} else {
		page.HasMore = end-start > limit
		end = min(end, start+limit)
	}
	for i := start; i < end; i++ {
		page.Data = append(page.Data, forAnthropic(models[i]))
	}
	if n := len(page.Data); n > 0 {
		page.FirstID, page.LastID = &page.Data[0].ID, &page.Data[n-1].ID
	}
	return page, nil
}

func (s *Server) showModel(w http.ResponseWriter, r *http.Request, _ Caller) {
	id := r.PathValue("id")
	for _, m := range s.opt.Backend.Models() {
		switch {
		case m.ID != id:
		case anthropicAsks(r):
			s.encode(w, r, forAnthropic(m))
			return
		default:
			s.encode(w, r, forOpenAI(m))
			return
		}
	}
	e := refusal(http.StatusNotFound, fmt.Sprintf("no model is called %q; GET /v1/models lists those there are", tool.Clean(id, 200)))
	e.Code = "model_not_found"
	s.refuse(w, r, e)
}

// encode answers with a value as JSON.
func (s *Server) encode(w http.ResponseWriter, r *http.Request, v any) {
	raw, err := tool.Encode(v)
	if err != nil {
		s.logger.Error("an answer cannot be written", "path", r.URL.Path, "error", err)
		s.refuse(w, r, refusal(http.StatusInternalServerError, "the answer cannot be written"))
		return
	}
	writeJSON(w, http.StatusOK, raw)
}
