package main

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// hideArguments returns an error without the arguments that may be the address of a node, with a password. If the program
// was called wrongly, the error may be about a part of one: then none of its words is repeated either.
func hideArguments(err error, args []string, wrongly bool) error {
	text := err.Error()
	for _, value := range suspicious(args) {
		for _, spelling := range []string{value, quoted(value), quoted(quoted(value))} {
			text = strings.ReplaceAll(text, spelling, "***")
		}
	}
	words := wordsOf(suspicious(withoutNodesFlag(args)))
	if wrongly && slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) }) {
		text = "called wrongly: what is said of an argument that looks like the address of a node is not shown, as it may have a password"
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// suspicious returns what may be the address of a node: arguments, values of flags and variables. The longest is first: it
// may have another one in it.
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
		return !strings.Contains(s, "://") && strings.LastIndex(s, "@") < 1 // @daily is none
	})
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// withoutNodesFlag returns the arguments without --nodes and its value: errors name the hosts there, and whoever reads the
// value refuses a password and repeats nothing of it.
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

// wordsOf returns the words of two characters or more, without the schemes of URLs, which errors name.
func wordsOf(texts []string) []string {
	var words []string
	for _, text := range texts {
		words = append(words, strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })...)
	}
	return slices.DeleteFunc(words, func(word string) bool { return len(word) < 2 || word == "redis" || word == "rediss" })
}

// quoted returns the text as %q has it, without the quotes.
func quoted(text string) string {
	text = strconv.Quote(text)
	return text[1 : len(text)-1]
}
