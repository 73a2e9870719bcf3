// Checks a log of ours with code that is not ours: the note and tlog packages that the Go distribution vendors.
//
// Usage: check DIR VKEY < questions.json
//
// DIR is a tlog-tiles folder. Each question is a size with proofs that our side computed; the answers are Go's own
// verification of them, and of every tile that Go needs to compute the same proofs itself.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type question struct {
	Size        int64
	Root        []byte
	Index       int64
	Leaf        []byte // the entry's bytes
	Inclusion   [][]byte
	Old         int64
	OldRoot     []byte
	Consistency [][]byte
}

// files reads tiles of height 8 from a tlog-tiles folder, whose paths lack the height.
type files string

func (dir files) Height() int { return 8 }

func (dir files) SaveTiles([]tlog.Tile, [][]byte) {}

func (dir files) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var data [][]byte
	for _, tile := range tiles {
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		read, err := os.ReadFile(filepath.Join(string(dir), path))
		if err != nil { // a partial tile may have been replaced by the full one
			full := tile
			full.W = 256
			read, err = os.ReadFile(filepath.Join(string(dir), strings.Replace(full.Path(), "tile/8/", "tile/", 1)))
			if err != nil {
				return nil, err
			}
			read = read[:tile.W*32]
		}
		data = append(data, read)
	}
	return data, nil
}

func hash(raw []byte) (h tlog.Hash) { copy(h[:], raw); return }

func proof(raw [][]byte) (p []tlog.Hash) {
	for _, one := range raw {
		p = append(p, hash(one))
	}
	return
}

func same(a, b []tlog.Hash) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func must(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
}

func main() {
	dir := os.Args[1]
	verifier, err := note.NewVerifier(os.Args[2])
	must("vkey", err)
	signed, err := os.ReadFile(filepath.Join(dir, "checkpoint"))
	must("checkpoint", err)
	opened, err := note.Open(signed, note.VerifierList(verifier))
	must("note", err)
	lines := strings.Split(opened.Text, "\n")
	if lines[0] != verifier.Name() {
		must("origin", fmt.Errorf("%q", lines[0]))
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must("size", err)
	root, err := tlog.ParseHash(lines[2])
	must("root", err)
	reader := tlog.TileHashReader(tlog.Tree{N: size, Hash: root}, files(dir))

	var questions []question
	must("questions", json.NewDecoder(os.Stdin).Decode(&questions))
	for _, q := range questions {
		at := fmt.Sprintf("size %d, index %d, old %d", q.Size, q.Index, q.Old)
		tree, err := tlog.TreeHash(q.Size, reader)
		must(at, err)
		if !bytes.Equal(tree[:], q.Root) {
			must(at, fmt.Errorf("another root"))
		}
		leaf := tlog.RecordHash(q.Leaf)
		must(at+": inclusion", tlog.CheckRecord(proof(q.Inclusion), q.Size, tree, q.Index, leaf))
		ours, err := tlog.ProveRecord(q.Size, q.Index, reader)
		must(at, err)
		if !same(ours, proof(q.Inclusion)) {
			must(at, fmt.Errorf("another inclusion proof"))
		}
		must(at+": consistency", tlog.CheckTree(proof(q.Consistency), q.Size, tree, q.Old, hash(q.OldRoot)))
	}
	fmt.Printf("%d questions agreed\n", len(questions))
}
