import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "bun:test"
import { parseConfiguration } from "../../../../pkg/config-file/config-file.ts"
import { authenticationKind } from "./kind.ts"

type Change = Readonly<Record<string, unknown>>

const ISSUER = { url: "https://id.example.com", audiences: ["k3ts"] }
const MAPPINGS = { username: { claim: "sub", prefix: "" } }
const FOO = (field: string) =>
  `${field}: Invalid value: "foo.bar": compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')`
const EMAIL =
  "claims.email_verified must be used in claimMappings.username.expression or " +
  "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in " +
  "claimMappings.username.expression"

/** Returns what is wrong in a file, without its name and lines; several faults are several lines. */
function faultsOf(top: Change, disallowed: readonly string[] = []): string {
  const head = { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthenticationConfiguration" }
  try {
    parseConfiguration(JSON.stringify({ ...head, ...top }), "f", [authenticationKind(disallowed)])
    return ""
  } catch (err) {
    return (err as Error).message.replaceAll(/^f:\d+: /gm, "").replaceAll("jwt[0].", "")
  }
}
const issuer = (change: Change, disallowed?: readonly string[]) =>
  faultsOf({ jwt: [{ issuer: { ...ISSUER, ...change }, claimMappings: MAPPINGS }] }, disallowed)
const claimRules = (...claimValidationRules: readonly Change[]) =>
  faultsOf({ jwt: [{ issuer: ISSUER, claimMappings: MAPPINGS, claimValidationRules }] })
const userRules = (...userValidationRules: readonly Change[]) =>
  faultsOf({ jwt: [{ issuer: ISSUER, claimMappings: MAPPINGS, userValidationRules }] })
const mappings = (claimMappings: Change, ...claimValidationRules: readonly Change[]) =>
  faultsOf({ jwt: [{ issuer: ISSUER, claimMappings: { ...MAPPINGS, ...claimMappings }, claimValidationRules }] })
const extra = (...entries: readonly Change[]) => mappings({ extra: entries })
const valid = { issuer: ISSUER, claimMappings: MAPPINGS }
const not = (field: string, value: string, why: string) => `${field}: Invalid value: ${JSON.stringify(value)}: ${why}`

/** The verdicts are those of Kubernetes 1.36. Source of the cases: apiserver validation_test.go. */
describe("an AuthenticationConfiguration", () => {
  test.each([
    ["without authenticators", faultsOf({}), ""],
    ["with a minimal authenticator", faultsOf({ jwt: [valid] }), ""],
    [
      "with 65 authenticators",
      faultsOf({ jwt: Array.from({ length: 65 }, () => valid) }),
      "jwt: Too many: 65: must have at most 64 items",
    ],
    [
      "with one issuer twice",
      faultsOf({ jwt: [valid, valid] }),
      'jwt[1].issuer.url: Duplicate value: "https://id.example.com"',
    ],
    [
      "with one discovery URL twice",
      faultsOf({
        jwt: ["https://a", "https://b"].map((url) => ({
          ...valid,
          issuer: { ...ISSUER, url, discoveryURL: "https://d/.well-known/openid-configuration" },
        })),
      }),
      'jwt[1].issuer.discoveryURL: Duplicate value: "https://d/.well-known/openid-configuration"',
    ],
    [
      "with the paths of anonymous requests",
      faultsOf({ anonymous: { enabled: true, conditions: [{ path: "/livez" }] } }),
      "",
    ],
    ["without an issuer's URL", issuer({ url: "" }), "issuer.url: Required value"],
    [
      "with a URL that is none",
      issuer({ url: "https://issuer-url:invalid-port" }),
      not(
        "issuer.url",
        "https://issuer-url:invalid-port",
        'parse "https://issuer-url:invalid-port": invalid port ":invalid-port" after host',
      ),
    ],
    [
      "with a URL of plain HTTP",
      issuer({ url: "http://i" }),
      not("issuer.url", "http://i", "URL scheme must be https"),
    ],
    [
      "with a name instead of a URL",
      issuer({ url: "invalid-url" }),
      not("issuer.url", "invalid-url", "URL scheme must be https"),
    ],
    [
      "with a user in a URL",
      issuer({ url: "https://user:pass@i" }),
      not("issuer.url", "https://user:pass@i", "URL must not contain a username or password"),
    ],
    [
      "with a query in a URL",
      issuer({ url: "https://i?q" }),
      not("issuer.url", "https://i?q", "URL must not contain a query"),
    ],
    [
      "with a fragment in a URL",
      issuer({ url: "https://i#f" }),
      not("issuer.url", "https://i#f", "URL must not contain a fragment"),
    ],
    [
      "with the issuer of the cluster's own tokens",
      issuer({}, ["a", "https://id.example.com"]),
      not(
        "issuer.url",
        "https://id.example.com",
        "URL must not overlap with disallowed issuers: [a https://id.example.com]",
      ),
    ],
    ["with a discovery URL", issuer({ discoveryURL: "https://oidc.oidc-namespace.svc/path" }), ""],
    [
      "with a discovery URL of plain HTTP",
      issuer({ discoveryURL: "http://d" }),
      not("issuer.discoveryURL", "http://d", "URL scheme must be https"),
    ],
    [
      "with the issuer as the discovery URL",
      issuer({ discoveryURL: "https://id.example.com///" }),
      not("issuer.discoveryURL", "https://id.example.com///", "discoveryURL must be different from URL"),
    ],
    [
      "without audiences",
      issuer({ audiences: [] }),
      "issuer.audiences: Required value: at least one issuer.audiences is required",
    ],
    ["with an empty audience", issuer({ audiences: [""] }), "issuer.audiences[0]: Required value"],
    ["with several audiences", issuer({ audiences: ["a", "b"], audienceMatchPolicy: "MatchAny" }), ""],
    ["with one audience and a policy", issuer({ audienceMatchPolicy: "MatchAny" }), ""],
    [
      "with one audience twice",
      issuer({ audiences: ["a", "a"], audienceMatchPolicy: "MatchAny" }),
      'issuer.audiences[1]: Duplicate value: "a"',
    ],
    [
      "with several audiences and no policy",
      issuer({ audiences: ["a", "b"] }),
      not("issuer.audienceMatchPolicy", "", "audienceMatchPolicy must be MatchAny for multiple audiences"),
    ],
    [
      "with a policy that is not known",
      issuer({ audienceMatchPolicy: "MatchExact" }),
      not(
        "issuer.audienceMatchPolicy",
        "MatchExact",
        "audienceMatchPolicy must be empty or MatchAny for single audience",
      ),
    ],
    [
      "with an authority that is none",
      issuer({ certificateAuthority: "invalid" }),
      not("issuer.certificateAuthority", "<omitted>", "data does not contain any valid RSA or ECDSA certificates"),
    ],
    ["with a way to the issuer", issuer({ egressSelectorType: "cluster" }), ""],
    [
      "with a way that is not known",
      issuer({ egressSelectorType: "panda" }),
      not("issuer.egressSelectorType", "panda", "egress selector must be either controlplane or cluster"),
    ],
    [
      "with an empty rule on claims",
      claimRules({}),
      "claimValidationRules[0]: Required value: claim or expression is required",
    ],
    [
      "with a claim and an expression in one rule",
      claimRules({ claim: "claim", expression: "expression" }),
      not("claimValidationRules[0]", "claim", "claim and expression can't both be set"),
    ],
    [
      "with a message for a claim",
      claimRules({ claim: "claim", message: "message" }),
      not("claimValidationRules[0].message", "message", "may not be specified when claim is set"),
    ],
    [
      "with a value for an expression",
      claimRules({ expression: "claims.foo == 'bar'", requiredValue: "value" }),
      not("claimValidationRules[0].requiredValue", "value", "may not be specified when expression is set"),
    ],
    [
      "with one claim in two rules",
      claimRules({ claim: "claim" }, { claim: "claim" }),
      'claimValidationRules[1].claim: Duplicate value: "claim"',
    ],
    [
      "with one expression in two rules",
      claimRules({ expression: "claims.a == 'b'" }, { expression: "claims.a == 'b'" }),
      "claimValidationRules[1].expression: Duplicate value: \"claims.a == 'b'\"",
    ],
    [
      "with an expression on claims that is none",
      claimRules({ expression: "foo.bar" }),
      FOO("claimValidationRules[0].expression"),
    ],
    [
      "with a rule on claims that may be anything",
      claimRules({ expression: "claims.foo" }),
      not("claimValidationRules[0].expression", "claims.foo", "must evaluate to bool"),
    ],
    [
      "with a name from a claim and an expression",
      mappings({ username: { claim: "claim", expression: "claims.username" } }),
      not("claimMappings.username", "", "claim and expression can't both be set"),
    ],
    [
      "without a name",
      mappings({ username: {} }),
      "claimMappings.username: Required value: claim or expression is required",
    ],
    [
      "with a prefix for an expression",
      mappings({ username: { expression: "claims.username", prefix: "prefix" } }),
      not("claimMappings.username.prefix", "prefix", "may not be specified when expression is set"),
    ],
    [
      "with a claim without a prefix",
      mappings({ username: { claim: "claim" } }),
      "claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set to an empty " +
        "string to disable prefixing",
    ],
    [
      "with a name by an expression that is none",
      mappings({ username: { expression: "foo.bar" } }),
      FOO("claimMappings.username.expression"),
    ],
    [
      "with groups from a claim and an expression",
      mappings({ groups: { claim: "claim", expression: "claims.groups" } }),
      not("claimMappings.groups", "", "claim and expression can't both be set"),
    ],
    [
      "with a claim of groups without a prefix",
      mappings({ groups: { claim: "claim" } }),
      "claimMappings.groups.prefix: Required value: prefix is required when claim is set. It can be set to an empty " +
        "string to disable prefixing",
    ],
    [
      "with a uid from a claim and an expression",
      mappings({ uid: { claim: "claim", expression: "claims.uid" } }),
      not("claimMappings.uid", "", "claim and expression can't both be set"),
    ],
    [
      "with a uid by an expression that is none",
      mappings({ uid: { expression: "foo.bar" } }),
      FOO("claimMappings.uid.expression"),
    ],
    [
      "with an attribute without a name",
      extra({ valueExpression: "claims.extra" }),
      "claimMappings.extra[0].key: Required value",
    ],
    [
      "with an attribute without a value",
      extra({ key: "example.org/foo" }),
      "claimMappings.extra[0].valueExpression: Required value",
    ],
    [
      "with an attribute by an expression that is none",
      extra({ key: "example.org/foo", valueExpression: "foo.bar" }),
      FOO("claimMappings.extra[0].valueExpression"),
    ],
    [
      "with one attribute twice",
      extra({ key: "a.org/b", valueExpression: "claims.a" }, { key: "a.org/b", valueExpression: "claims.b" }),
      'claimMappings.extra[1].key: Duplicate value: "a.org/b"',
    ],
    [
      "with an attribute without a domain",
      extra({ key: "foo", valueExpression: "claims.extra" }),
      not("claimMappings.extra[0].key", "foo", 'must be a domain-prefixed path (such as "acme.io/foo")'),
    ],
    [
      "with an attribute in upper case",
      extra({ key: "example.org/Foo", valueExpression: "claims.extra" }),
      not("claimMappings.extra[0].key", "example.org/Foo", "must be lowercase"),
    ],
    [
      "with an attribute of Kubernetes",
      extra({ key: "a.k8s.io/foo", valueExpression: "claims.extra" }),
      not(
        "claimMappings.extra[0].key",
        "a.k8s.io/foo",
        "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use",
      ),
    ],
    [
      "with an attribute of a domain that ends alike",
      extra({ key: "notk8s.io/foo", valueExpression: "claims.extra" }),
      "",
    ],
    [
      "with an address that nobody has verified",
      mappings({ username: { expression: "claims.email" } }),
      not("claimMappings.username.expression", "claims.email", EMAIL),
    ],
    ["with another claim that begins alike", mappings({ username: { expression: "claims.email_" } }), ""],
    [
      "with such an address in a list",
      mappings({ username: { expression: "['a', string(claims.email)].join(' ')" } }),
      not("claimMappings.username.expression", "['a', string(claims.email)].join(' ')", EMAIL),
    ],
    [
      "with such an address, if there is one",
      mappings({ username: { expression: "claims.?email" } }),
      not("claimMappings.username.expression", "claims.?email", EMAIL),
    ],
    [
      "with such an address in a macro",
      mappings({ username: { expression: '["a"].map(i, i + claims.email)' } }),
      not("claimMappings.username.expression", '["a"].map(i, i + claims.email)', EMAIL),
    ],
    [
      "with an address that a rule on claims verifies",
      mappings(
        { username: { expression: "claims.email" } },
        { expression: "claims.?email_verified.orValue(true) == true" },
      ),
      "",
    ],
    [
      "with an address that an attribute verifies",
      mappings({
        username: { expression: "claims.email" },
        extra: [{ key: "example.org/a", valueExpression: "string(claims.email_verified)" }],
      }),
      "",
    ],
    ["with a rule on users", userRules({ expression: "user.username == 'foo'" }), ""],
    ["with an empty rule on users", userRules({}), "userValidationRules[0].expression: Required value"],
    [
      "with one rule on users twice",
      userRules({ expression: "user.username == 'foo'" }, { expression: "user.username == 'foo'" }),
      "userValidationRules[1].expression: Duplicate value: \"user.username == 'foo'\"",
    ],
    [
      "with a rule on users that is none",
      userRules({ expression: "foo.bar" }),
      FOO("userValidationRules[0].expression"),
    ],
    [
      "with a rule on users that is no condition",
      userRules({ expression: "user.username" }),
      not("userValidationRules[0].expression", "user.username", "must evaluate to bool"),
    ],
  ])("%s is judged as in Kubernetes", (_what, found, wanted) => {
    expect(found.split("\n | ")[0]).toBe(wanted)
  })

  test("of the documentation is valid", () => {
    const page = readFileSync(join(import.meta.dirname, "../../../../docs/sign-in.md"), "utf8")
    const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)]
      .map(([, text = ""]) => text)
      .filter((text) => text.includes("AuthenticationConfiguration"))
    expect(blocks).toHaveLength(2)
    for (const text of blocks)
      parseConfiguration(text.replace(/ +certificateAuthority: \|\n(?: {8}.*\n)+/, ""), "docs/sign-in.md", [
        authenticationKind([]),
      ])
  })
})
