package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
)

// A journal file is a row of frames:
//
//	length  uint32 LE   of the body
//	crc     uint32 LE   CRC-32C of the body
//	body    number of the record (uint32 LE), then the record
//
// Its name is its identity: the journals table says under that name which
// records are in the tables already. A frame that ends before its length is a
// write that was never acknowledged.

const (
	frameHead   = 8
	maxFrame    = 8 << 20 // of a body, in bytes
	maxSequence = math.MaxUint32
)

// journal is the file of one open Store. It is guarded by the Store's mutex.
type journal struct {
	file   *os.File
	name   string
	number int64 // in the journals table
	seq    uint32
	size   int64
	broken error // a failed write could not be taken back
}

// castagnoli is the CRC that processors have an instruction for.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // cached by the package

// append writes one record and returns its number.
func (j *journal) append(frame []byte) (uint32, error) {
	if j.broken != nil {
		return 0, j.broken
	}
	if j.seq == maxSequence {
		return 0, fmt.Errorf("%w: %d records by one process; restart it", ErrLimit, uint32(maxSequence))
	}
	if n := len(frame) - frameHead; n > maxFrame {
		return 0, fmt.Errorf("%w: a record of %d bytes, at most %d", ErrLimit, n, maxFrame)
	}
	j.seal(frame)
	if _, err := j.file.WriteAt(frame, j.size); err != nil {
		// A torn frame in the middle would hide what comes after it.
		if cut := j.file.Truncate(j.size); cut != nil {
			j.broken = errors.Join(err, cut)
		}
		return 0, err
	}
	j.seq++
	j.size += int64(len(frame))
	return j.seq, nil
}

// seal completes a frame with the next number, its length and its checksum.
func (j *journal) seal(frame []byte) {
	body := frame[frameHead:]
	binary.LittleEndian.PutUint32(body, j.seq+1)
	binary.LittleEndian.PutUint32(frame, uint32(len(body))) //nolint:gosec // bounded by maxFrame
	binary.LittleEndian.PutUint32(frame[4:], crc32.Checksum(body, castagnoli()))
}

// reset empties the file once every record is in the tables.
func (j *journal) reset() error {
	if err := j.file.Truncate(0); err != nil {
		return err
	}
	j.size = 0
	return nil
}

// entry is one record of a journal that is read back.
type entry struct {
	seq  uint32
	body []byte
}

// errDamaged says that a frame is whole but not what was written.
var errDamaged = errors.New("a record's checksum is wrong")

// readJournal calls f for every whole frame. A torn last frame ends it without
// an error.
func readJournal(r io.Reader, f func(entry) error) error {
	var head [frameHead]byte
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return endOf(err)
		}
		n := binary.LittleEndian.Uint32(head[:])
		if n < 4 || n > maxFrame {
			return errDamaged
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return endOf(err)
		}
		if crc32.Checksum(body, castagnoli()) != binary.LittleEndian.Uint32(head[4:]) {
			return errDamaged
		}
		if err := f(entry{binary.LittleEndian.Uint32(body), body[4:]}); err != nil {
			return err
		}
	}
}

func endOf(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
