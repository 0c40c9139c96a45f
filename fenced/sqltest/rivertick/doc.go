// Package rivertick tests adapters/rivertick on a real PostgreSQL. It is here because the adapter's own module would otherwise
// require this one.
package rivertick
