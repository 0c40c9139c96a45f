// Package doctest keeps what is written about the library true: its tests compare the README and the pages
// beside it with the sources, and compile their programs. That the rights they name suffice is seen by integration.
package doctest
