//go:build !race

package redlock_test

const usualPlans = 200
