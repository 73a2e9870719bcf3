// Opens a cosigned checkpoint of ours with the note package that the Go distribution vendors, and Go's own Ed25519.
//
// Usage: check LOG-VKEY WITNESS-VKEY < checkpoint
//
// Prints the names of those whose signatures verified, and the time of each cosignature.
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// witness verifies cosignature/v1, as c2sp.org/tlog-cosignature says.
type witness struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func (w witness) Name() string    { return w.name }
func (w witness) KeyHash() uint32 { return w.hash }

func (w witness) Verify(msg, sig []byte) bool {
	if len(sig) != 72 {
		return false
	}
	head := fmt.Sprintf("cosignature/v1\ntime %d\n", binary.BigEndian.Uint64(sig))
	return ed25519.Verify(w.key, append([]byte(head), msg...), sig[8:])
}

func must(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
}

func parse(vkey string) witness {
	parts := strings.SplitN(vkey, "+", 3)
	raw, err := base64.StdEncoding.DecodeString(parts[2])
	must("vkey", err)
	sum := sha256.Sum256(append([]byte(parts[0]+"\n"), raw...))
	if raw[0] != 4 || len(raw) != 33 || fmt.Sprintf("%x", sum[:4]) != parts[1] {
		must("vkey", fmt.Errorf("%q", vkey))
	}
	return witness{parts[0], binary.BigEndian.Uint32(sum[:]), raw[1:]}
}

func main() {
	log, err := note.NewVerifier(os.Args[1])
	must("log", err)
	signed, err := io.ReadAll(os.Stdin)
	must("stdin", err)
	opened, err := note.Open(signed, note.VerifierList(log, parse(os.Args[2])))
	must("note", err)
	for _, sig := range opened.Sigs {
		raw, _ := base64.StdEncoding.DecodeString(sig.Base64)
		if len(raw) == 76 {
			fmt.Println(sig.Name, binary.BigEndian.Uint64(raw[4:]))
		} else {
			fmt.Println(sig.Name)
		}
	}
}
