import { describe, expect, test } from "bun:test"
import { credentials, HEADER, hostsFiles } from "./hosts.ts"
import { parseRegistries } from "./parse-registries.ts"
import type { Registries } from "./registries.ts"

/** Returns the content of each hosts.toml, by folder. */
const filesOf = (yaml: string) => filesIn(parseRegistries(yaml, "registries.yaml"))
const filesIn = (registries: Registries) =>
  Object.fromEntries(
    hostsFiles(registries, () => undefined).map(({ folder, text }) => {
      expect(text).toStartWith(`${HEADER}\n`)
      return [folder, Bun.TOML.parse(text)]
    }),
  )

describe("hosts.toml", () => {
  test.each<{ title: string; yaml: string; wants: object }>([
    { title: "is not written for an empty configuration", yaml: "", wants: {} },
    {
      title: "tries mirrors before the registry itself",
      yaml: "mirrors: {registry.k8s.io: {endpoint: [https://a:5000, http://b/]}}",
      wants: {
        "registry.k8s.io": {
          server: "https://registry.k8s.io",
          host: {
            "https://a:5000": { capabilities: ["pull", "resolve"] },
            "http://b": { capabilities: ["pull", "resolve"] },
          },
        },
      },
    },
    {
      title: "has the server of Docker Hub under the name docker.io",
      yaml: "mirrors: {docker.io: {endpoint: [https://a]}}",
      wants: {
        "docker.io": {
          server: "https://registry-1.docker.io",
          host: { "https://a": { capabilities: ["pull", "resolve"] } },
        },
      },
    },
    {
      title: "keeps the path of an endpoint that has one of its own",
      yaml: "mirrors: {x.io: {endpoint: [https://a/v2/hub, https://b/v2]}}",
      wants: {
        "x.io": {
          server: "https://x.io",
          host: {
            "https://a/v2/hub": { capabilities: ["pull", "resolve"], override_path: true },
            "https://b": { capabilities: ["pull", "resolve"] },
          },
        },
      },
    },
    {
      title: "has the certificates of an endpoint and of the registry",
      yaml:
        "mirrors: {x.io: {endpoint: [https://a:1]}}\n" +
        "configs: {'a:1': {tls: {ca_file: /ca, cert_file: /c, key_file: /k}}, x.io: {tls: {insecure_skip_verify: true}}}",
      wants: {
        "x.io": {
          server: "https://x.io",
          skip_verify: true,
          host: {
            "https://a:1": { capabilities: ["pull", "resolve"], ca: ["/ca"], client: [["/c", "/k"]] },
            "https://x.io": { capabilities: ["pull", "resolve"], skip_verify: true },
          },
        },
        "a:1": {
          server: "https://a:1",
          ca: ["/ca"],
          client: [["/c", "/k"]],
          host: { "https://a:1": { capabilities: ["pull", "resolve"], ca: ["/ca"], client: [["/c", "/k"]] } },
        },
      },
    },
    {
      title: "for all other registries names no server",
      yaml: "mirrors: {'*': {endpoint: [https://a]}}",
      wants: { _default: { host: { "https://a": { capabilities: ["pull", "resolve"] } } } },
    },
    {
      title: "for a registry on loopback has a server without TLS",
      yaml: "mirrors: {'127.0.0.1:5000': {endpoint: [https://a]}}",
      wants: {
        "127.0.0.1:5000": {
          server: "http://127.0.0.1:5000",
          host: { "https://a": { capabilities: ["pull", "resolve"] } },
        },
      },
    },
    {
      title: "for a registry on loopback with certificates has a server with TLS",
      yaml: "configs: {'127.0.0.1:5000': {tls: {ca_file: /ca}}}",
      wants: {
        "127.0.0.1:5000": {
          server: "https://127.0.0.1:5000",
          ca: ["/ca"],
          host: { "https://127.0.0.1:5000": { capabilities: ["pull", "resolve"], ca: ["/ca"] } },
        },
      },
    },
  ])("$title", ({ yaml, wants }) => expect(filesOf(yaml)).toEqual(wants as never))
})

test.each<{ title: string; yaml: string; wants: object }>([
  {
    title: "the last mirror takes the place of the registry itself",
    yaml: "mirrors: {docker.io: {endpoint: [https://a, https://b/hub]}}\nconfigs: {b: {tls: {ca_file: /ca}}}",
    wants: {
      "docker.io": {
        server: "https://b/hub",
        capabilities: ["pull", "resolve"],
        override_path: true,
        ca: ["/ca"],
        host: {
          "https://a": { capabilities: ["pull", "resolve"] },
          "https://b/hub": { capabilities: ["pull", "resolve"], override_path: true, ca: ["/ca"] },
        },
      },
      b: {
        server: "https://b",
        ca: ["/ca"],
        host: { "https://b": { capabilities: ["pull", "resolve"], ca: ["/ca"] } },
      },
    },
  },
  {
    title: "no registry itself is used if * has mirrors",
    yaml: "mirrors: {'*': {endpoint: [https://a]}}",
    wants: {
      _default: {
        server: "https://a",
        capabilities: ["pull", "resolve"],
        host: { "https://a": { capabilities: ["pull", "resolve"] } },
      },
    },
  },
  {
    title: "a registry without mirrors is used itself",
    yaml: "configs: {x.io: {tls: {insecure_skip_verify: true}}}",
    wants: {
      "x.io": {
        server: "https://x.io",
        skip_verify: true,
        host: { "https://x.io": { capabilities: ["pull", "resolve"], skip_verify: true } },
      },
    },
  },
])("with mirrors only, $title", ({ yaml, wants }) => {
  const registries = { ...parseRegistries(yaml, "registries.yaml"), mirrorsOnly: true }
  expect(filesIn(registries)).toEqual(wants as never)
})

test("credentials are found by host, for Docker Hub by both of its names, and for an endpoint by its host", () => {
  const registries = parseRegistries(
    "configs: {docker.io: {auth: {username: u, password: p}}, 'a:1': {auth: {identity_token: t}}, b: {}}",
    "registries.yaml",
  )
  expect(credentials(registries, new Map([["127.0.0.1:4711", "a:1"]]))).toEqual({
    "docker.io": { auth: { username: "u", password: "p" } },
    "registry-1.docker.io": { auth: { username: "u", password: "p" } },
    "a:1": { auth: { identitytoken: "t" } },
    "127.0.0.1:4711": { auth: { identitytoken: "t" } },
  })
})
