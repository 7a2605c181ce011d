import { describe, expect, test } from "bun:test"
import { datastoreFlags, datastoreOf } from "./flags.ts"

const flags = (given: Record<string, unknown>) => ({
  "datastore-endpoint": undefined,
  "datastore-cafile": undefined,
  "datastore-certfile": undefined,
  "datastore-keyfile": undefined,
  ...given,
})

describe("--datastore-endpoint", () => {
  test.each([
    { title: "one etcd member is accepted", given: "http://127.0.0.1:2379", wants: ["http://127.0.0.1:2379"] },
    {
      title: "several etcd members are accepted",
      given: "https://a.example:2379, https://[2001:db8::1]:2379",
      wants: ["https://a.example:2379", "https://[2001:db8::1]:2379"],
    },
    { title: "another database is refused", given: "mysql://user@tcp(127.0.0.1:3306)/k3s", wants: undefined },
    {
      title: "a PostgreSQL and its standby are accepted",
      given:
        "postgres://k3ts:secret@db1.example/k3ts,postgresql://k3ts:secret@db2.example:5433/k3ts?sslmode=verify-full",
      wants: [
        "postgres://k3ts:secret@db1.example/k3ts",
        "postgresql://k3ts:secret@db2.example:5433/k3ts?sslmode=verify-full",
      ],
    },
    {
      title: "a PostgreSQL without verification of its certificate is refused",
      given: "postgres://k@db/k3ts?sslmode=require",
      wants: undefined,
    },
    {
      title: "an etcd together with a PostgreSQL is refused",
      given: "https://a.example:2379,postgres://k@db/k3ts",
      wants: undefined,
    },
    { title: "a URL with a path is refused", given: "https://a.example:2379/registry", wants: undefined },
    {
      title: "a user name is refused, since etcd gets credentials in another way",
      given: "https://user:secret@a.example:2379",
      wants: undefined,
    },
    {
      title: "a password is refused, since it would be logged",
      given: "https://:secret@a.example:2379",
      wants: undefined,
    },
    { title: "an empty value is refused", given: "", wants: undefined },
  ])("$title", ({ given, wants }) => {
    const read = datastoreFlags["datastore-endpoint"].type.read(given)
    expect("value" in read ? read.value : undefined).toEqual(wants)
  })
})

describe("the flags of a datastore", () => {
  test.each([
    { title: "can be absent", given: {}, wants: undefined },
    {
      title: "have etcd's endpoints and its TLS files",
      given: {
        "datastore-endpoint": ["https://a:2379"],
        "datastore-cafile": "/ca",
        "datastore-certfile": "/cert",
        "datastore-keyfile": "/key",
      },
      wants: { endpoints: ["https://a:2379"], caFile: "/ca", certFile: "/cert", keyFile: "/key" },
    },
  ])("$title", ({ given, wants }) => expect(datastoreOf(flags(given))).toEqual(wants))

  test.each([
    {
      title: "files without an endpoint",
      given: { "datastore-keyfile": "/key", "datastore-certfile": "/cert" },
      wants: "--datastore-certfile needs --datastore-endpoint",
    },
    {
      title: "a certificate without its key",
      given: { "datastore-endpoint": ["https://a:2379"], "datastore-certfile": "/cert" },
      wants: "are given together",
    },
    {
      title: "files that a URL without TLS does not use",
      given: { "datastore-endpoint": ["http://a:2379"], "datastore-cafile": "/ca" },
      wants: "uses no certificates",
    },
    {
      title: "files for a PostgreSQL without TLS",
      given: { "datastore-endpoint": ["postgres://k@127.0.0.1/k3ts"], "datastore-cafile": "/ca" },
      wants: "add ?sslmode=verify-full",
    },
  ])("are refused: $title", ({ given, wants }) => expect(() => datastoreOf(flags(given))).toThrow(wants))
})
