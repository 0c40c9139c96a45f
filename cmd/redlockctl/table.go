package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// table is the output of a command for people.
type table struct {
	head []string
	rows [][]string
	drop []int  // columns to leave out if a terminal is too narrow, the first of them first
	next *table // shown below it; nil: none
}

const (
	between    = 2  // spaces between two columns
	shortFirst = 24 // a narrow terminal cuts the first column to this, which is a name
	shortLast  = 18 // and the last one to this, which is a text
)

// write prints the table in at most columns, as far as it can be shortened; 0: without a limit.
func (t table) write(w io.Writer, columns int) error {
	lines := make([][]string, 0, len(t.rows)+1)
	for _, row := range append([][]string{t.head}, t.rows...) {
		line := make([]string, len(t.head))
		for i := range min(len(row), len(line)) {
			line[i] = cell(row[i])
		}
		lines = append(lines, line)
	}
	for _, line := range fit(lines, t.drop, columns) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(strings.Join(line, strings.Repeat(" ", between)), " ")); err != nil {
			return err
		}
	}
	return nil
}

// fit leaves out columns and shortens texts until the lines have at most the given width, and pads the texts.
func fit(lines [][]string, drop []int, width int) [][]string {
	keep := make([]int, len(lines[0]))
	for i := range keep {
		keep[i] = i
	}
	wide := widths(lines, keep)
	for _, left := range drop {
		if width == 0 || shortest(wide) <= width {
			break
		}
		keep = slices.DeleteFunc(keep, func(i int) bool { return i == left })
		wide = widths(lines, keep)
	}
	if first, last, over := 0, len(wide)-1, total(wide)-width; width > 0 && over > 0 && last > 0 {
		for _, one := range []struct{ column, least int }{{last, shortLast}, {first, shortFirst}, {last, 8}} {
			cut := min(over, max(wide[one.column]-one.least, 0))
			wide[one.column] -= cut
			over -= cut
		}
	}
	for l, line := range lines {
		shown := make([]string, len(keep))
		for i, column := range keep {
			shown[i] = pad(line[column], wide[i])
		}
		lines[l] = shown
	}
	return lines
}

// widths returns the width of each column.
func widths(lines [][]string, columns []int) []int {
	all := make([]int, len(columns))
	for _, line := range lines {
		for i, column := range columns {
			all[i] = max(all[i], wideOf(line[column]))
		}
	}
	return all
}

func total(wide []int) (n int) {
	for _, one := range wide {
		n += one + between
	}
	return n - between
}

// shortest returns the least width of columns whose first and last one may be cut.
func shortest(wide []int) int {
	wide = slices.Clone(wide)
	wide[0] = min(wide[0], shortFirst)
	wide[len(wide)-1] = min(wide[len(wide)-1], shortLast)
	return total(wide)
}

// pad cuts or fills a text to a width.
func pad(text string, width int) string {
	if wideOf(text) <= width {
		return text + strings.Repeat(" ", width-wideOf(text))
	}
	shown, n := strings.Builder{}, 0
	for _, r := range text {
		if n += runeWidth(r); n >= width {
			break
		}
		shown.WriteRune(r)
	}
	return pad(shown.String()+"…", width)
}

func wideOf(text string) (n int) {
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// wideRunes are ranges of characters that take two columns: those of East Asia, and pictures.
var wideRunes = [][2]rune{
	{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60},
	{0x1f300, 0x1faff}, {0x20000, 0x3fffd},
}

// runeWidth returns about how many columns a character takes.
func runeWidth(r rune) int {
	if slices.ContainsFunc(wideRunes, func(of [2]rune) bool { return of[0] <= r && r <= of[1] }) {
		return 2
	}
	return 1
}
