package main

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// schemes are those of nodes, which errors explain.
var schemes = []string{"redis", "rediss", "valkey", "valkeys"}

// hideArguments removes from an error all arguments that may be the address of a node, with a password. It changes
// nothing else, so the schemes and forms of addresses that an error explains stay. After wrong usage, the error may also
// quote a part of such an argument. If the error has a word of it, another text replaces the error.
func hideArguments(err error, args []string, wrongly bool) error {
	text := err.Error()
	for _, value := range suspicious(args) {
		for _, spelling := range spellings(value) {
			text = strings.ReplaceAll(text, spelling, "***")
		}
	}
	words := wordsOf(suspicious(withoutNodesFlag(args)))
	if wrongly && slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) }) {
		text = "wrong usage: the message is not shown, because it may repeat a password from an argument that looks like the address of a node"
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// spellings returns the texts with which an error may repeat a value.
func spellings(value string) []string {
	all := []string{value, quoted(value), quoted(quoted(value))}
	for _, most := range []int{64, 20} { // errors quote that much of a spec, and of a name that is too long
		if runes := []rune(value); len(runes) > most {
			all = append(all, quoted(string(runes[:most])))
		}
	}
	return all
}

// suspicious returns the arguments and the values of flags and variables that may be the address of a node. The
// longest is first, because it may contain another one.
func suspicious(args []string) []string {
	var all []string
	for _, arg := range args {
		_, value, _ := strings.Cut(arg, "=")
		spellings := []string{arg, value}
		if strings.HasPrefix(arg, "-") {
			spellings = append(spellings, strings.TrimLeft(arg, "-"), arg[min(2, len(arg)):]) // -evalue
		}
		all = append(all, spellings...)
	}
	for _, variable := range []string{
		electionVariable, prefixVariable, tlsCAVariable, tlsCertVariable, tlsKeyVariable, nodesFileVariable,
	} {
		all = append(all, os.Getenv(variable))
	}
	all = slices.DeleteFunc(all, func(s string) bool {
		return !strings.Contains(s, "://") && strings.LastIndex(s, "@") < 1 || // @daily is no address
			slices.Contains(schemes, strings.TrimSuffix(s, "://")) // a scheme alone is no secret
	})
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// withoutNodesFlag returns the arguments without --nodes and its value. Errors may name the hosts there, and the code
// that parses the value refuses a password without repeating it.
func withoutNodesFlag(args []string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			return append(kept, args[i:]...)
		case arg == "-n" || arg == "--nodes":
			i++
		case !strings.HasPrefix(arg, "-n") && !strings.HasPrefix(arg, "--nodes="):
			kept = append(kept, arg)
		}
	}
	return kept
}

// wordsOf returns the words of two characters or more, except schemes.
func wordsOf(texts []string) []string {
	var words []string
	for _, text := range texts {
		words = append(words, strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })...)
	}
	return slices.DeleteFunc(words, func(word string) bool {
		return len(word) < 2 || slices.Contains(schemes, word)
	})
}

// quoted returns the text as %q has it, without the quotes.
func quoted(text string) string {
	text = strconv.Quote(text)
	return text[1 : len(text)-1]
}
