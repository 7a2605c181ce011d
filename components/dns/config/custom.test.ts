import { describe, expect, test } from "bun:test"
import { parseDirectives, parseServers } from "./corefile.ts"
import { readCustom } from "./custom.ts"
import type { Zone } from "./zone.ts"

const ROOT: Zone = { name: "", rewrites: [], autopath: false, cluster: true, forwards: [], logs: false }
const forward = (from: string, ...addresses: string[]) => ({
  from,
  except: [],
  servers: addresses.map((address) => ({ address, port: 53 })),
  protocol: "client" as const,
  policy: "random" as const,
  maxFails: 2,
  maxConcurrent: 1000,
})

test("server blocks may have comments, quotes, several zones and nested blocks", () => {
  const [first, second, ...more] = parseServers(`
    # for the office
    corp.example:53, lab.example {
      log "a b" # noted
      forward . 10.0.0.1 {
        policy sequential
      }
    }
    other.example {
    }
  `)
  expect(more).toEqual([])
  expect(first).toEqual({
    zones: ["corp.example:53", "lab.example"],
    line: 3,
    directives: [
      { name: "log", args: ["a b"], options: [], line: 4 },
      {
        name: "forward",
        args: [".", "10.0.0.1"],
        options: [{ name: "policy", args: ["sequential"], options: [], line: 6 }],
        line: 5,
      },
    ],
  })
  expect(second).toEqual({ zones: ["other.example"], line: 9, directives: [] })
})

test.each([
  {
    title: "a block that is not closed",
    text: "a.example {\n log",
    wants: 'line 1: the block of "a.example" is not closed',
  },
  { title: "zones without a block", text: "a.example", wants: 'line 1: "a.example" is not followed by "{"' },
  { title: "a quote that is not closed", text: 'a {\n log "x\n}', wants: "line 2: a quote is not closed" },
  { title: "words after a closing brace", text: "a {\n log\n} b", wants: 'line 3: "}" must stand alone' },
  {
    title: "blocks that are too deep",
    text: "a {\nb {\nc {\nd {\n}\n}\n}\n}",
    wants: "line 4: blocks go 3 levels deep",
  },
])("$title is refused", ({ text, wants }) => {
  expect(() => parseServers(text)).toThrow(wants)
})

test("directives with an unmatched closing brace are refused", () => {
  expect(() => parseDirectives("log\n}")).toThrow('line 2: "}" closes nothing')
})

describe("the ConfigMap coredns-custom", () => {
  interface Case {
    readonly title: string
    readonly data: Record<string, string>
    readonly wants: { readonly zones: readonly Partial<Zone>[]; readonly problems?: readonly string[] }
  }
  const cases: readonly Case[] = [
    { title: "changes nothing when it is empty", data: {}, wants: { zones: [ROOT] } },
    {
      title: "forwards a domain to its own servers",
      data: { "corp.server": "corp.example:53 {\n errors\n cache 60\n forward . 10.0.0.1 [fd00::1]:53\n}" },
      wants: {
        zones: [
          ROOT,
          {
            name: "corp.example",
            cluster: false,
            forwards: [forward("", "10.0.0.1", "fd00::1")],
            cache: {
              success: { capacity: 9984, ttl: 60, minTtl: 5 },
              denial: { capacity: 9984, ttl: 60, minTtl: 5 },
            },
          },
        ],
      },
    },
    {
      title: "adds hosts to the root",
      data: {
        "a.override": "hosts {\n 10.0.0.9 Db.example. db2.example\n fd00::9 *.apps.example\n ttl 10\n fallthrough\n}",
      },
      wants: {
        zones: [
          {
            ...ROOT,
            hosts: {
              entries: [
                { ip: "10.0.0.9", name: "db.example" },
                { ip: "10.0.0.9", name: "db2.example" },
                { ip: "fd00::9", name: "*.apps.example" },
              ],
              ttl: 10,
              fallsThrough: true,
              reverse: true,
            },
          },
        ],
      },
    },
    {
      title: "adds rewrites, a log, autopath and servers for some names to the root",
      data: {
        "a.override":
          "rewrite name old.example new.example\nrewrite continue name suffix .here .default.svc.cluster.local\n" +
          "log\nautopath @kubernetes\nforward corp.example 10.0.0.1 {\n prefer_udp\n max_fails 0\n except x.corp.example\n}",
      },
      wants: {
        zones: [
          {
            ...ROOT,
            logs: true,
            autopath: true,
            rewrites: [
              { match: "exact", from: "old.example", to: "new.example", goesOn: false },
              { match: "suffix", from: ".here", to: ".default.svc.cluster.local", goesOn: true },
            ],
            forwards: [
              { ...forward("corp.example", "10.0.0.1"), protocol: "udp", maxFails: 0, except: ["x.corp.example"] },
            ],
          },
        ],
      },
    },
    {
      title: "ignores a key that cannot be read, and reads the other keys",
      data: { "a.server": "x.example {", "b.override": "log", README: "what is this" },
      wants: {
        zones: [{ ...ROOT, logs: true }],
        problems: ['a.server: line 1: the block of "x.example" is not closed by "}"'],
      },
    },
    {
      title: "reports what is not supported",
      data: {
        "a.override":
          "template IN A\nforward . tls://9.9.9.9\nhosts {\n 10.0.0.1 bad_name!\n spam\n}\nrewrite type A AAAA\ncache 0",
        "b.server": "x.example:5353 {\n}\n. {\n}",
      },
      wants: {
        zones: [{ name: "" }],
        problems: [
          "a.override: line 1: template: this plugin is not supported",
          'a.override: line 2: forward: "tls://9.9.9.9" is not an IP address of a server, with or without a port',
          'a.override: line 3: hosts: "bad_name!" is not the name of a host',
          'a.override: line 3: hosts: "spam" is neither an address nor an option',
          'a.override: line 7: rewrite: only names are rewritten ("type A AAAA")',
          'a.override: line 8: cache: the time to live must be a number of seconds above 0, but is "0"',
          'b.server: line 1: "x.example:5353": zones are served on port 53 only',
          'b.server: line 3: "." is already served; use a key that ends with .override',
        ],
      },
    },
  ]
  test.each(cases)("$title", ({ data, wants }) => {
    const { zones, problems } = readCustom(ROOT, data)
    expect(zones).toMatchObject(wants.zones as Zone[])
    expect(zones).toHaveLength(wants.zones.length)
    expect(problems).toEqual(wants.problems ?? [])
  })
})
