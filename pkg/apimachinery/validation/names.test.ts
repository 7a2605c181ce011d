import { describe, expect, test } from "bun:test"
import {
  asPrefix,
  isCIDR,
  isConfigMapKey,
  isDNS1035Label,
  isDNS1123Label,
  isDNS1123Subdomain,
  isEnvVarName,
  isHTTPHeaderName,
  isIPAddress,
  isLabelValue,
  isPathSegmentName,
  isPercent,
  isPortName,
  isPortNumber,
  isQualifiedName,
  oneProblem,
  type Check,
} from "./names.ts"

const cases: readonly (readonly [
  name: string,
  check: Check,
  good: readonly string[],
  bad: readonly (readonly [value: string, part: string])[],
])[] = [
  [
    "DNS-1123 label",
    isDNS1123Label,
    ["a", "0", "my-name", "a".repeat(63)],
    [
      ["", "a lowercase RFC 1123 label must consist of"],
      ["A", "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'"],
      ["a.b", "must not contain dots"],
      ["a".repeat(64), "must be no more than 63 characters"],
      ["-a", "(e.g. 'my-name',  or '123-abc', regex used"],
    ],
  ],
  [
    "DNS-1123 subdomain",
    isDNS1123Subdomain,
    ["a.b.c", "example.com"],
    [
      ["a..b", "(e.g. 'example.com', regex used for validation is"],
      ["a_b", "a lowercase RFC 1123 subdomain"],
      ["a".repeat(254), "must be no more than 253 characters"],
    ],
  ],
  [
    "DNS-1035 label",
    isDNS1035Label,
    ["web", "a1"],
    [
      ["1a", "a DNS-1035 label must consist of"],
      ["a.b", "DNS-1035"],
    ],
  ],
  [
    "qualified name",
    isQualifiedName,
    ["app", "app.kubernetes.io/name", "A_b.c"],
    [
      ["", "name part must be non-empty"],
      ["/a", "prefix part must be non-empty"],
      ["a/b/c", "a valid label key must consist of"],
      ["Foo.com/a", "prefix part a lowercase RFC 1123 subdomain"],
      ["a".repeat(64), "name part must be no more than 63 bytes"],
    ],
  ],
  [
    "label value",
    isLabelValue,
    ["", "a", "1_2.3-4"],
    [
      ["a b", "a valid label must be an empty string or consist of"],
      ["-", "regex used for validation is '(([A-Za-z0-9]"],
    ],
  ],
  [
    "variable name",
    isEnvVarName,
    ["PATH", "my.env-name", "1A", "a b"],
    [
      ["", "environment variable name must be non-empty"],
      ["a=b", "must consist only of printable ASCII characters other than '='"],
      ["ä", "printable ASCII"],
    ],
  ],
  [
    "config map key",
    isConfigMapKey,
    ["a.txt", "_", "..a".slice(1)],
    [
      ["..", "must not be '..'"],
      [".", "must not be '.'"],
      ["..a", "must not start with '..'"],
      ["a/b", "a valid config key must consist of"],
    ],
  ],
  [
    "path segment",
    isPathSegmentName,
    ["system:node", "a b"],
    [
      ["a/b", "may not contain '/'"],
      ["..", "may not be '..'"],
      ["%", "may not contain '%'"],
    ],
  ],
  ["header", isHTTPHeaderName, ["X-A"], [["a b", "a valid HTTP header must consist of"]]],
  [
    "port name",
    isPortName,
    ["http", "a-1"],
    [
      ["a".repeat(16), "must be no more than 15 characters"],
      ["80", "must contain at least one letter (a-z)"],
      ["a--b", "must not contain consecutive hyphens"],
      ["-a", "must not begin or end with a hyphen"],
      ["A", "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"],
    ],
  ],
  [
    "percentage",
    isPercent,
    ["0%", "150%"],
    [["1", "a valid percent string must be a numeric string followed by an ending '%'"]],
  ],
  [
    "address",
    isIPAddress,
    ["10.0.0.1", "::1"],
    [
      ["10.0.0.256", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
      ["fe80::1%eth0", "must be a valid IP address"],
      ["010.0.0.1", "must not have leading 0s"],
      ["::ffff:10.0.0.1", "must not be an IPv4-mapped IPv6 address"],
    ],
  ],
  [
    "network",
    isCIDR,
    ["10.0.0.0/8", "::/0"],
    [
      ["10.0.0.0", "must be a valid CIDR value"],
      ["10.0.0.0/33", "CIDR"],
      ["10.0.0.0/08", "must not have leading 0s in IP or prefix length"],
      ["10.0.0.1/8", "must not have bits set beyond the prefix length"],
      ["fe80::%1/64", "CIDR"],
      ["::ffff:10.0.0.0/104", "must not have an IPv4-mapped IPv6 address"],
    ],
  ],
]

describe("names", () => {
  test.each(cases)(
    "%s: valid names are accepted and invalid ones are refused with the reason",
    (_name, check, good, bad) => {
      for (const value of good) expect([value, check(value)]).toEqual([value, undefined])
      for (const [value, part] of bad) expect(oneProblem(check(value)!, "; ")).toContain(part)
    },
  )

  test("each broken rule has its own message", () => {
    // given names that break one rule, two, and four
    const [one, two, four] = ["a.b", `${"A".repeat(64)}`, "-80--aaaaaaaaaaaa_"]

    // when
    const found = [isDNS1123Label(one), isDNS1123Label(two), isPortName(four), isQualifiedName("")]

    // then
    expect(found).toEqual([
      "must not contain dots",
      ["must be no more than 63 characters", expect.stringContaining("a lowercase RFC 1123 label must consist of")],
      [
        "must be no more than 15 characters",
        expect.stringContaining("must contain only alpha-numeric"),
        "must not contain consecutive hyphens",
        "must not begin or end with a hyphen",
      ],
      ["name part must be non-empty", expect.stringContaining("name part must consist of")],
    ])
  })

  test("a prefix can end with a hyphen", () => {
    expect(isDNS1123Label("web-")).toBeDefined()
    expect(asPrefix(isDNS1123Label)("web-")).toBeUndefined()
  })

  test("a port number lies between 1 and 65535", () => {
    expect([isPortNumber(1), isPortNumber(65535)]).toEqual([undefined, undefined])
    expect(isPortNumber(0)).toBe("must be between 1 and 65535, inclusive")
  })
})
