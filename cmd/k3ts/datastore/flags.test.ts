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
    { title: "one member", given: "http://127.0.0.1:2379", wants: ["http://127.0.0.1:2379"] },
    {
      title: "several members",
      given: "https://a.example:2379, https://[2001:db8::1]:2379",
      wants: ["https://a.example:2379", "https://[2001:db8::1]:2379"],
    },
    { title: "another database", given: "mysql://user@tcp(127.0.0.1:3306)/k3s", wants: undefined },
    { title: "a path", given: "https://a.example:2379/registry", wants: undefined },
    { title: "credentials, which etcd takes otherwise", given: "https://user:secret@a.example:2379", wants: undefined },
    { title: "a password, which would be logged", given: "https://:secret@a.example:2379", wants: undefined },
    { title: "nothing", given: "", wants: undefined },
  ])("$title", ({ given, wants }) => {
    expect(datastoreFlags["datastore-endpoint"].safeParse(given).data).toEqual(wants)
  })
})

describe("the flags of a datastore", () => {
  test.each([
    { title: "are absent", given: {}, wants: undefined },
    {
      title: "name etcd and its files",
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
      title: "files that would not be used",
      given: { "datastore-endpoint": ["http://a:2379"], "datastore-cafile": "/ca" },
      wants: "uses no certificates",
    },
  ])("are refused: $title", ({ given, wants }) => expect(() => datastoreOf(flags(given))).toThrow(wants))
})
