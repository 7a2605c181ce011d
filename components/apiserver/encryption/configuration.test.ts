import { expect, test } from "bun:test"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { parseEncryptionConfiguration } from "./configuration.ts"
import { secret } from "./encryption.fixtures.ts"
import { transformerOf } from "./transformer.ts"

const HEAD = { kind: "EncryptionConfiguration", apiVersion: "apiserver.config.k8s.io/v1" }
const KEYS = { keys: [{ name: "a", secret: secret(32) }] }
const withResources = (...resources: readonly object[]) => JSON.stringify({ ...HEAD, resources })
const withProvider = (provider: object) => withResources({ resources: ["secrets"], providers: [provider] })
const withNames = (...resources: readonly string[]) => withResources({ resources, providers: [{ identity: {} }] })
const KMS = { apiVersion: "v2", name: "vault", endpoint: "unix:///run/kms.sock" }

// The words after "error while parsing file:" are those of Kubernetes' own validation.
test.each([
  { title: "nothing", text: "", wants: `encryption provider configuration file "f" is empty` },
  { title: "half a file", text: withNames("secrets").slice(0, -9), wants: "error decoding encryption provider" },
  { title: "another kind of object", text: '{"kind":"Pod","apiVersion":"v1"}', wants: "error decoding" },
  {
    title: "an unknown field",
    text: withProvider({ aesgmc: KEYS }),
    wants: "resources[0].providers[0]: Unrecognized key",
  },
  { title: "no rules", text: withResources(), wants: "resources: Required value: at least one resources is required" },
  {
    title: "a rule without kinds",
    text: withResources({ resources: [], providers: [{ identity: {} }] }),
    wants: "resources[0].resources: Required value: at least one resources[0].resources is required",
  },
  {
    title: "a rule without providers",
    text: withResources({ resources: ["secrets"], providers: [] }),
    wants: "resources[0].providers: Required value: at least one resources[0].providers is required",
  },
  {
    title: "two providers in one entry",
    text: withProvider({ aesgcm: KEYS, identity: {} }),
    wants: "more than one provider specified in a single element",
  },
  { title: "an empty entry", text: withProvider({}), wants: "does not contain any of the expected providers" },
  {
    title: "no keys",
    text: withProvider({ aescbc: { keys: [] } }),
    wants: "providers[0].aescbc.keys: Required value: at least one keys is required",
  },
  {
    title: "a key that is too short",
    text: withProvider({ aesgcm: { keys: [{ name: "a", secret: secret(7) }] } }),
    wants:
      'resources[0].providers[0].aesgcm.keys[0].secret: Invalid value: "REDACTED": secret is not of the expected ' +
      "length, got 7, expected one of [16 24 32]",
  },
  {
    title: "a secretbox key of 16 bytes",
    text: withProvider({ secretbox: { keys: [{ name: "a", secret: secret(16) }] } }),
    wants: "got 16, expected one of [32]",
  },
  {
    title: "a key that is not base64",
    text: withProvider({ aesgcm: { keys: [{ name: "a", secret: "hunter2!" }] } }),
    wants: '"REDACTED": secrets must be base64 encoded',
  },
  {
    title: "a key without a name",
    text: withProvider({ aesgcm: { keys: [{ secret: secret(32) }] } }),
    wants: "keys[0].name: Required value: name is a mandatory field for a key",
  },
  { title: "capital letters in a resource", text: withNames("Secrets"), wants: "should not contain capital letters" },
  {
    title: "* as a resource",
    text: withNames("*"),
    wants: "use '*.' to encrypt all the resources from core API group",
  },
  { title: "a resource of all groups", text: withNames("pods.*"), wants: "encrypting the same resource across groups" },
  { title: "events.k8s.io", text: withNames("events.events.k8s.io"), wants: "Use 'events' instead" },
  {
    title: "the same resource twice",
    text: withNames("secrets", "secrets"),
    wants: "cannot be specified multiple times",
  },
  { title: "a resource beside all resources of its group", text: withNames("secrets", "*."), wants: "will be masked" },
  { title: "a resource beside all resources", text: withNames("secrets", "*.*"), wants: "will be masked" },
  {
    title: "a plugin over TCP",
    text: withProvider({ kms: { ...KMS, endpoint: "tcp://127.0.0.1:1" } }),
    wants: `unsupported scheme "tcp" for KMS provider, only unix is supported`,
  },
  {
    title: "a plugin with a colon in its name",
    text: withProvider({ kms: { ...KMS, name: "a:b" } }),
    wants: "invalid KMS provider name a:b, must not contain ':'",
  },
  {
    title: "a plugin with a negative timeout",
    text: withProvider({ kms: { ...KMS, timeout: "0s" } }),
    wants: "timeout should be a positive value",
  },
  {
    title: "two plugins with the same name",
    text: withResources({ resources: ["secrets"], providers: [{ kms: KMS }, { kms: KMS }] }),
    wants: "duplicate KMS provider name vault, names must be unique",
  },
])("a configuration with $title is refused, with a message that contains no key", ({ text, wants }) => {
  let message = ""
  try {
    parseEncryptionConfiguration(text, "f")
  } catch (err) {
    message = (err as Error).message
  }
  expect(message).toContain(wants)
  expect(message).toStartWith("error while parsing file:")
  for (const hidden of [secret(32), secret(16), secret(7), "hunter2!"]) expect(message).not.toContain(hidden)
})

test.each([
  { earlier: "*.*", later: "secrets", wants: 'resource "secrets" is masked by earlier rule "*.*"' },
  { earlier: "*.apps", later: "deployments.apps", wants: '"deployments.apps" is masked by earlier rule "*.apps"' },
])(
  "a rule for $later after a rule for $earlier is refused, since it would never apply",
  async ({ earlier, later, wants }) => {
    const rule = (name: string) => ({ resources: [name], providers: [{ identity: {} }] })
    const parsed = parseEncryptionConfiguration(withResources(rule(earlier), rule(later)), "f")
    const tools = { random: seededRandom(1), kms: () => Promise.reject(new Error("none")) as never }
    expect(transformerOf(parsed, tools)).rejects.toThrow(wants)
  },
)

test("a configuration in YAML with several rules is read", () => {
  const text = `
kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
- resources: [events]
  providers: [{identity: {}}]
- resources: ['*.*']
  providers:
  - kms: {apiVersion: v2, name: vault, endpoint: 'unix:///run/kms.sock'}
  - aesgcm: {keys: [{name: a, secret: ${secret(16)}}]}
`
  const { resources } = parseEncryptionConfiguration(text, "f")
  expect(
    resources.map(({ resources: names, providers }) => [names, providers.map((one) => Object.keys(one)[0])]),
  ).toEqual([
    [["events"], ["identity"]],
    [["*.*"], ["kms", "aesgcm"]],
  ])
})
