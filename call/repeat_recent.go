package call

import "container/list"

// recent is a map of at most max entries that forgets the one used longest ago.
// It is not safe for concurrent use.
type recent[K comparable, V any] struct {
	max   int
	byKey map[K]*list.Element
	order *list.List // of recentEntry[K, V], the latest first
}

type recentEntry[K comparable, V any] struct {
	key   K
	value V
}

func newRecent[K comparable, V any](max int) *recent[K, V] {
	return &recent[K, V]{max: max, byKey: map[K]*list.Element{}, order: list.New()}
}

func (r *recent[K, V]) get(key K) (V, bool) {
	el, ok := r.byKey[key]
	if !ok {
		var none V
		return none, false
	}
	r.order.MoveToFront(el)
	return el.Value.(recentEntry[K, V]).value, true
}

func (r *recent[K, V]) put(key K, value V) {
	if el, ok := r.byKey[key]; ok {
		el.Value = recentEntry[K, V]{key, value}
		r.order.MoveToFront(el)
		return
	}
	r.byKey[key] = r.order.PushFront(recentEntry[K, V]{key, value})
	if len(r.byKey) > r.max {
		r.remove(r.order.Back().Value.(recentEntry[K, V]).key)
	}
}

func (r *recent[K, V]) remove(key K) {
	if el, ok := r.byKey[key]; ok {
		r.order.Remove(el)
		delete(r.byKey, key)
	}
}

func (r *recent[K, V]) len() int { return len(r.byKey) }
