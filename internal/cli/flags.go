package cli

import (
	"errors"
	"strconv"
)

// wholeNumber is a flag whose faults are told in the words of who types it.
type wholeNumber struct{ into *int }

func (w wholeNumber) String() string {
	if w.into == nil {
		return "" // the flag package asks of a value that nobody has set up
	}
	return strconv.Itoa(*w.into)
}

func (w wholeNumber) Type() string { return "int" }

func (w wholeNumber) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, strconv.IntSize)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return errors.New("the number is too large")
	case err != nil:
		return errors.New("expected a whole number")
	}
	*w.into = int(n)
	return nil
}
