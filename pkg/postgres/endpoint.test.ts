import { expect, test } from "bun:test"
import { isOpenToReaders, parsePostgresUrl, splitPostgresUrls, type PostgresEndpoint } from "./endpoint.ts"

const plain: PostgresEndpoint = {
  host: "db.example",
  port: 5432,
  user: "k3ts",
  password: undefined,
  database: "k3ts",
  isSecure: true,
  name: "db.example:5432/k3ts",
}

test.each<{ title: string; given: string; wants: Partial<PostgresEndpoint> | undefined }>([
  { title: "another machine, with TLS", given: "postgres://k3ts@db.example/k3ts", wants: {} },
  {
    title: "a port, and signs in a password",
    given: "postgresql://k3ts:p%40s%2Cs@db.example:6432/k3ts",
    wants: { port: 6432, password: "p@s,s", name: "db.example:6432/k3ts" },
  },
  {
    title: "the same machine, without TLS",
    given: "postgres://k3ts@[::1]/k3ts",
    wants: { host: "::1", isSecure: false, name: "[::1]:5432/k3ts" },
  },
  {
    title: "the same machine, with TLS",
    given: "postgres://k3ts@localhost/k3ts?sslmode=verify-full",
    wants: { host: "localhost", name: "localhost:5432/k3ts" },
  },
  { title: "no TLS", given: "postgres://k3ts@db.example/k3ts?sslmode=disable", wants: { isSecure: false } },
  {
    title: "a socket",
    given: "postgres://k3ts@%2Fvar%2Frun%2Fpostgresql/k3ts",
    wants: { host: "/var/run/postgresql", isSecure: false, name: "/var/run/postgresql:5432/k3ts" },
  },
  {
    title: "a mode that does not check the server's certificate",
    given: "postgres://k3ts@db.example/k3ts?sslmode=require",
    wants: undefined,
  },
  { title: "TLS on a socket", given: "postgres://k3ts@%2Frun/k3ts?sslmode=verify-full", wants: undefined },
  { title: "an unknown parameter", given: "postgres://k3ts@db.example/k3ts?sslcert=/a", wants: undefined },
  {
    title: "the parameter by which libpq finds the primary",
    given: "postgres://k3ts@db.example/k3ts?target_session_attrs=read-write",
    wants: {},
  },
  {
    title: "a wish for a standby",
    given: "postgres://k3ts@db.example/k3ts?target_session_attrs=any",
    wants: undefined,
  },
  { title: "no user", given: "postgres://db.example/k3ts", wants: undefined },
  { title: "no database", given: "postgres://k3ts@db.example/", wants: undefined },
  { title: "no host", given: "postgres:k3ts", wants: undefined },
  { title: "a broken escape", given: "postgres://k3ts:%zz@db.example/k3ts", wants: undefined },
  { title: "another scheme", given: "mysql://k3ts@db.example/k3ts", wants: undefined },
])("a URL with $title", ({ given, wants }) => {
  expect(parsePostgresUrl(given)).toEqual(wants && { ...plain, ...wants })
})

test.each([
  { url: "postgres://k3ts@db.example/k3ts?sslmode=disable", wants: true },
  { url: "postgres://k3ts@db.example/k3ts", wants: false },
  { url: "postgres://k3ts@127.0.0.1/k3ts", wants: false },
  { url: "postgres://k3ts@%2Frun%2Fpostgresql/k3ts", wants: false },
])("others on the network can read what goes to $url: $wants", ({ url, wants }) => {
  expect(isOpenToReaders(parsePostgresUrl(url)!)).toBe(wants)
})

test.each([
  { title: "one URL", given: "postgres://k@a/db", wants: ["postgres://k@a/db"] },
  {
    title: "several URLs",
    given: "postgres://k@a/db, postgresql://k@b/db",
    wants: ["postgres://k@a/db", "postgresql://k@b/db"],
  },
  {
    title: "a URL with several hosts",
    given: "postgres://k:p@a:5432,[fd00::1]:5433,c/db?sslmode=disable",
    wants: [
      "postgres://k:p@a:5432/db?sslmode=disable",
      "postgres://k:p@[fd00::1]:5433/db?sslmode=disable",
      "postgres://k:p@c/db?sslmode=disable",
    ],
  },
  { title: "what is no URL", given: "a,b", wants: ["a,b"] },
])("$title: each host has a URL", ({ given, wants }) => {
  expect(splitPostgresUrls(given)).toEqual(wants)
})
