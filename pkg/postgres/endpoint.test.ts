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
  { title: "another machine uses TLS", given: "postgres://k3ts@db.example/k3ts", wants: {} },
  {
    title: "a port and an escaped password has both parsed",
    given: "postgresql://k3ts:p%40s%2Cs@db.example:6432/k3ts",
    wants: { port: 6432, password: "p@s,s", name: "db.example:6432/k3ts" },
  },
  {
    title: "the same machine uses no TLS",
    given: "postgres://k3ts@[::1]/k3ts",
    wants: { host: "::1", isSecure: false, name: "[::1]:5432/k3ts" },
  },
  {
    title: "the same machine and sslmode uses TLS",
    given: "postgres://k3ts@localhost/k3ts?sslmode=verify-full",
    wants: { host: "localhost", name: "localhost:5432/k3ts" },
  },
  {
    title: "sslmode=disable uses no TLS",
    given: "postgres://k3ts@db.example/k3ts?sslmode=disable",
    wants: { isSecure: false },
  },
  {
    title: "a socket uses no TLS",
    given: "postgres://k3ts@%2Fvar%2Frun%2Fpostgresql/k3ts",
    wants: { host: "/var/run/postgresql", isSecure: false, name: "/var/run/postgresql:5432/k3ts" },
  },
  {
    title: "an sslmode that does not verify the certificate is refused",
    given: "postgres://k3ts@db.example/k3ts?sslmode=require",
    wants: undefined,
  },
  { title: "TLS on a socket is refused", given: "postgres://k3ts@%2Frun/k3ts?sslmode=verify-full", wants: undefined },
  { title: "an unknown parameter is refused", given: "postgres://k3ts@db.example/k3ts?sslcert=/a", wants: undefined },
  {
    title: "target_session_attrs=read-write is accepted",
    given: "postgres://k3ts@db.example/k3ts?target_session_attrs=read-write",
    wants: {},
  },
  {
    title: "any other target_session_attrs is refused",
    given: "postgres://k3ts@db.example/k3ts?target_session_attrs=any",
    wants: undefined,
  },
  { title: "no user is refused", given: "postgres://db.example/k3ts", wants: undefined },
  { title: "no database is refused", given: "postgres://k3ts@db.example/", wants: undefined },
  { title: "no host is refused", given: "postgres:k3ts", wants: undefined },
  { title: "an invalid escape is refused", given: "postgres://k3ts:%zz@db.example/k3ts", wants: undefined },
  { title: "another scheme is refused", given: "mysql://k3ts@db.example/k3ts", wants: undefined },
])("a URL with $title", ({ given, wants }) => {
  expect(parsePostgresUrl(given)).toEqual(wants && { ...plain, ...wants })
})

test.each([
  { url: "postgres://k3ts@db.example/k3ts?sslmode=disable", wants: true },
  { url: "postgres://k3ts@db.example/k3ts", wants: false },
  { url: "postgres://k3ts@127.0.0.1/k3ts", wants: false },
  { url: "postgres://k3ts@%2Frun%2Fpostgresql/k3ts", wants: false },
])("a connection to $url can be read by others on the network: $wants", ({ url, wants }) => {
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
  { title: "a text that is no URL", given: "a,b", wants: ["a,b"] },
])("$title: each host has its own URL", ({ given, wants }) => {
  expect(splitPostgresUrls(given)).toEqual(wants)
})
