import { describe, expect, test } from "bun:test"
import { certificateTable, type NamedPair } from "./certificate-table.ts"
import type { ServingPair } from "./serving-pair.ts"

const pair = (cert: string, dnsNames: readonly string[] = [], commonNames: readonly string[] = []): ServingPair => ({
  cert,
  key: "",
  dnsNames,
  commonNames,
})
const named = (given: ServingPair, ...patterns: readonly string[]): NamedPair => ({ pair: given, patterns })
const OWN = "the cluster's own"

const usual = pair("usual", ["api.example.org", "*.wide.example.org"])
const one = pair("one", ["one.example.org", "shared.example.org"], ["cn.example.org"])
const two = pair("two", ["two.example.org", "shared.example.org", "*.example.org"])
const other = pair("other", ["other.example.org", "san.example.net"])

const asked = (names: readonly string[], options: Partial<Parameters<typeof certificateTable>[0]>) => {
  const table = certificateTable({
    usual: undefined,
    named: [],
    reserved: new Set(["kubernetes", "kubernetes.default.svc"]),
    own: ["localhost", "kubernetes", "san.example.org"],
    ...options,
  })
  return names.map((name) => (table(name) as ServingPair | undefined)?.cert ?? OWN)
}

describe("of the certificates that are given", () => {
  test.each<[title: string, names: string[], options: Partial<Parameters<typeof certificateTable>[0]>, want: string[]]>(
    [
      [
        "a name gets the one that has it, exact names before patterns",
        ["one.example.org", "two.example.org", "any.example.org", "a.b.example.org"],
        { named: [named(two), named(one)] },
        ["one", "two", "two", OWN],
      ],
      [
        "the earlier one is chosen of two with the same name",
        ["shared.example.org"],
        { named: [named(two), named(one)] },
        ["two"],
      ],
      ["the common name counts as a name", ["cn.example.org"], { named: [named(one)] }, ["one"]],
      [
        "names that are given come before those that a certificate has",
        ["one.example.org", "x.example.org"],
        { named: [named(one), named(two), named(other, "one.example.org", "*.example.org")] },
        ["other", "other"],
      ],
      [
        "names that are given replace its own, but for names for which no other is valid",
        ["other.example.org", "given.example.org", "two.example.org"],
        { usual, named: [named(other, "given.example.org"), named(two)] },
        ["two", "other", "two"],
      ],
      [
        "one is chosen that is valid for the name although it was given for others",
        ["san.example.net"],
        { usual, named: [named(other, "given.example.org")] },
        ["other"],
      ],
      [
        "names of none get the usual one",
        ["nobody.example.com", "api.example.org", "x.wide.example.org"],
        { usual },
        ["usual", "usual", "usual"],
      ],
      [
        "names of none get the cluster's own without a usual one",
        ["nobody.example.com"],
        { named: [named(one)] },
        [OWN],
      ],
      [
        "the cluster's own serves names for which it alone is valid",
        ["localhost", "san.example.org", "nobody.example.com"],
        { usual },
        [OWN, OWN, "usual"],
      ],
      [
        "agents and pods get the cluster's own, whatever the others have",
        ["kubernetes", "KUBERNETES.default.svc."],
        {
          usual: pair("usual", ["kubernetes", "kubernetes.default.svc"]),
          named: [named(pair("all"), "*", "*.default.svc")],
        },
        [OWN, OWN],
      ],
      [
        "letters' case and a final dot make no difference",
        ["ONE.example.org", "one.example.org."],
        { named: [named(one, "One.Example.org")] },
        ["one", "one"],
      ],
      ["the pattern * is for names of one part", ["host", "a.b"], { named: [named(one, "*")] }, ["one", OWN]],
    ],
  )("%s", (_title, names, options, want) => expect(asked(names, options)).toEqual(want))
})
