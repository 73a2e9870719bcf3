// Judges the language-neutral vectors that need no knowledge of our records, with code that is not ours: the note and
// tlog packages that the Go distribution vendors.
//
// Usage: vectors FILE...
//
// Prints a line a vector: its file, and "accepted" or "refused" with the reason. What is expected is compared by the
// caller. The formats are those of C2SP signed-note, tlog-checkpoint, tlog-tiles and tlog-proof, and of RFC 9162.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type given struct {
	Origin  string
	Vkeys   []string
	Note    []byte
	Entry   []byte
	Index   int64
	Size    int64
	Root    []byte
	Proof   [][]byte
	Old     int64
	OldRoot []byte `json:"old_root"`
	Receipt []byte
	Files   map[string][]byte
}

type vector struct {
	Check string
	Given given
}

func hash(raw []byte) (h tlog.Hash, err error) {
	if len(raw) != tlog.HashSize {
		return h, errors.New("a hash is not 32 bytes")
	}
	copy(h[:], raw)
	return h, nil
}

func hashes(raw [][]byte) (p []tlog.Hash, err error) {
	for _, one := range raw {
		h, err := hash(one)
		if err != nil {
			return nil, err
		}
		p = append(p, h)
	}
	return p, nil
}

// decimal reads what strconv.FormatInt writes, and nothing else.
func decimal(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && (n < 0 || strconv.FormatInt(n, 10) != text) {
		err = fmt.Errorf("not a plain decimal: %q", text)
	}
	return n, err
}

// checkpoint opens a signed note and reads the head in it (tlog-checkpoint, Note text).
func checkpoint(signed []byte, origin string, vkeys []string) (tree tlog.Tree, err error) {
	var verifiers []note.Verifier
	for _, vkey := range vkeys {
		verifier, err := note.NewVerifier(vkey)
		if err != nil {
			return tree, err
		}
		verifiers = append(verifiers, verifier)
	}
	opened, err := note.Open(signed, note.VerifierList(verifiers...))
	if err != nil {
		return tree, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[0] != origin {
		return tree, fmt.Errorf("not a head of %s", origin)
	}
	if tree.N, err = decimal(lines[1]); err != nil {
		return tree, err
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil {
		return tree, err
	}
	if tree.Hash, err = hash(raw); err != nil {
		return tree, err
	}
	if empty, _ := tlog.TreeHash(0, nil); tree.N == 0 && tree.Hash != empty {
		return tree, errors.New("a root over no entries")
	}
	return tree, nil
}

func inclusion(entry []byte, index int64, tree tlog.Tree, raw [][]byte) error {
	proof, err := hashes(raw)
	if err != nil {
		return err
	}
	return tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash(entry))
}

func consistency(g given) error {
	proof, err := hashes(g.Proof)
	if err != nil {
		return err
	}
	old, err := hash(g.OldRoot)
	if err != nil {
		return err
	}
	root, err := hash(g.Root)
	if err != nil {
		return err
	}
	return tlog.CheckTree(proof, g.Size, root, g.Old, old)
}

func receipt(g given) error {
	head, signed, found := bytes.Cut(g.Receipt, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	if !found || len(lines) < 2 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return errors.New("not a proof")
	}
	text, found := strings.CutPrefix(lines[1], "index ")
	if !found {
		return errors.New("no index")
	}
	index, err := decimal(text)
	if err != nil {
		return err
	}
	var path [][]byte
	for _, line := range lines[2:] {
		raw, err := base64.StdEncoding.Strict().DecodeString(line)
		if err != nil {
			return err
		}
		path = append(path, raw)
	}
	tree, err := checkpoint(signed, g.Origin, g.Vkeys)
	if err != nil {
		return err
	}
	return inclusion(g.Entry, index, tree, path)
}

// files serves a vector's tiles, of height 8; tlog names them with their height, tlog-tiles without.
type files map[string][]byte

func (f files) Height() int { return 8 }

func (f files) SaveTiles([]tlog.Tile, [][]byte) {}

func (f files) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var data [][]byte
	for _, tile := range tiles {
		read, found := f[strings.Replace(tile.Path(), "tile/8/", "tile/", 1)]
		if !found {
			return nil, fmt.Errorf("no %s", tile.Path())
		}
		data = append(data, read)
	}
	return data, nil
}

// entries reads the bundles (tlog-tiles, Log entries) of a log of at most 256,000 entries.
func (f files) entries(size int64) (all [][]byte, err error) {
	for start := int64(0); start < size; start += 256 {
		width := min(256, size-start)
		name := fmt.Sprintf("tile/entries/%03d", start/256)
		if width < 256 {
			name += fmt.Sprintf(".p/%d", width)
		}
		data := f[name]
		for range width {
			if len(data) < 2 || len(data) < 2+(int(data[0])<<8|int(data[1])) {
				return nil, fmt.Errorf("%s ends early", name)
			}
			end := 2 + (int(data[0])<<8 | int(data[1]))
			all, data = append(all, data[2:end]), data[end:]
		}
		if len(data) > 0 {
			return nil, fmt.Errorf("%s goes on", name)
		}
	}
	return all, nil
}

// wholeLog checks every entry, through tiles that tlog authenticates against the root before it uses them.
func wholeLog(g given) error {
	tree, err := checkpoint(g.Files["checkpoint"], g.Origin, g.Vkeys)
	if err != nil {
		return err
	}
	entries, err := files(g.Files).entries(tree.N)
	if err != nil {
		return err
	}
	reader := tlog.TileHashReader(tree, files(g.Files))
	for index, entry := range entries {
		found, err := reader.ReadHashes([]int64{tlog.StoredHashIndex(0, int64(index))})
		if err != nil {
			return err
		}
		if found[0] != tlog.RecordHash(entry) {
			return fmt.Errorf("entry %d is not the one in the tree", index)
		}
	}
	return nil
}

func judge(v vector) error {
	g := v.Given
	switch v.Check {
	case "note":
		_, err := checkpoint(g.Note, g.Origin, g.Vkeys)
		return err
	case "inclusion":
		root, err := hash(g.Root)
		if err != nil {
			return err
		}
		return inclusion(g.Entry, g.Index, tlog.Tree{N: g.Size, Hash: root}, g.Proof)
	case "consistency":
		return consistency(g)
	case "receipt":
		return receipt(g)
	case "log":
		return wholeLog(g)
	}
	return fmt.Errorf("cannot judge a %s", v.Check)
}

func main() {
	for _, name := range os.Args[1:] {
		data, err := os.ReadFile(name)
		var v vector
		if err == nil {
			err = json.Unmarshal(data, &v)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(2)
		}
		if err := judge(v); err != nil {
			fmt.Printf("%s refused: %v\n", name, err)
		} else {
			fmt.Printf("%s accepted\n", name)
		}
	}
}
