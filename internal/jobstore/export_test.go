package jobstore

// Text is what the nodes store.
func (s State) Text() string { return string(s.append(nil)) }

// DecodeState reads it.
var DecodeState = decodeState

// Text is what the nodes store.
func (s Setting) Text() string { return s.encode() }
