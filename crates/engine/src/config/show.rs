//! Configuration for people: each value with where it came from, and a commented file to start from.
//! Never shows a secret.
