import { describe, expect, test } from "bun:test"
import { parseRegistries } from "./parse-registries.ts"
import { readRegistries } from "./read-registries.ts"
import { endpointUrl } from "./registries.ts"

const PATH = "/etc/k3ts/registries.yaml"

describe("registries.yaml", () => {
  test("has mirrors with rewrites, and credentials and certificates by host", () => {
    expect(
      parseRegistries(
        `mirrors:
  docker.io:
    endpoint: ["https://mirror.example.org:5000"]
    rewrite: {"^library/(.*)": "hub/$1"}
  "*":
configs:
  mirror.example.org:5000:
    auth: {username: jane, password: s3cret}
    tls: {insecure_skip_verify: true}
`,
        PATH,
      ),
    ).toEqual({
      mirrors: {
        "docker.io": { endpoint: ["https://mirror.example.org:5000"], rewrite: { "^library/(.*)": "hub/$1" } },
        "*": { endpoint: [], rewrite: {} },
      },
      configs: {
        "mirror.example.org:5000": {
          auth: { username: "jane", password: "s3cret" },
          tls: { insecure_skip_verify: true },
        },
      },
    })
  })

  test.each(["*", "x.io", "localhost", "10.0.0.1:5000", "[::1]:5000", "my_registry:80"])(
    "can have the registry name %j",
    (host) => expect(Object.keys(parseRegistries(`mirrors: {"${host}": {}}`, PATH).mirrors)).toEqual([host]),
  )

  test.each(["", "# nothing\n", "mirrors:\nconfigs:\n"])("can be empty: %j", (text) =>
    expect(parseRegistries(text, PATH)).toEqual({ mirrors: {}, configs: {} }),
  )

  test.each<{ text: string; wants: string }>([
    { text: "mirrors: [", wants: `${PATH} is not YAML: ` },
    { text: "mirror: {}", wants: `invalid ${PATH}: Unrecognized key: "mirror"` },
    {
      text: "mirrors: {docker.io: {endpoint: [ftp://x]}}",
      wants:
        `invalid ${PATH}: mirrors["docker.io"].endpoint[0]: must be a URL of http or https, as in ` +
        "https://registry.example.org:5000",
    },
    ...["mirrors: {'https://x.io': {}}", "configs: {'../../x': {}}", "mirrors: {x.io/team: {}}"].map((text) => ({
      text,
      wants: `"]: must be the host of a registry, with its port where it has one, as in registry.example.org:5000`,
    })),
    {
      text: "mirrors: {docker.io: {endpoint: [https://x], rewrite: {'(': x}}}",
      wants: `invalid ${PATH}: mirrors["docker.io"].rewrite["("]: must be a pattern in RE2's syntax: `,
    },
    {
      text: "configs: {x: {tls: {insecure_skip_verify: sure}}}",
      wants: `invalid ${PATH}: configs.x.tls.insecure_skip_verify: Invalid input: expected boolean, received string`,
    },
    {
      text: "configs: {x: {tls: {cert_file: /a.crt}}}",
      wants: `invalid ${PATH}: configs.x.tls: cert_file and key_file go together`,
    },
  ])("is refused with the field that is invalid: $text", ({ text, wants }) =>
    expect(() => parseRegistries(text, PATH)).toThrow(wants),
  )

  test("is optional", async () => {
    expect(await readRegistries("/nonexistent/registries.yaml")).toBeUndefined()
  })
})

test.each<{ text: string; wants: string | undefined }>([
  { text: "https://mirror.example.org", wants: "https://mirror.example.org/" },
  { text: "mirror.example.org:5000", wants: "https://mirror.example.org:5000/" },
  { text: "127.0.0.1:5000", wants: "http://127.0.0.1:5000/" },
  { text: "localhost:5000", wants: "http://localhost:5000/" },
  { text: "localhost", wants: "https://localhost/" },
  { text: "http://10.0.0.1/v2/hub", wants: "http://10.0.0.1/v2/hub" },
  { text: "https://user:secret@x", wants: undefined },
  { text: "not a url", wants: undefined },
])("the endpoint $text is $wants", ({ text, wants }) => expect(endpointUrl(text)?.href).toBe(wants))
