import { describe, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Client } from "../../pkg/client/client.ts"
import { realClock } from "../../pkg/clock/real.ts"
import type { HelmChart } from "../../pkg/k3s-kinds/helmchart.ts"
import { packedChart } from "./chart-source.ts"

const base64 = (text: string) => Buffer.from(text).toString("base64")

/** A server of charts: `answers` has a body for each path, or a function. */
async function serving(
  answers: Readonly<Record<string, string | ((req: IncomingMessage, res: ServerResponse) => void)>>,
) {
  const asked: string[] = []
  const server = createServer((req, res) => {
    asked.push(`${req.url} ${req.headers.authorization ?? ""}`.trim())
    const answer = answers[req.url!]
    if (answer === undefined) res.writeHead(404).end()
    else if (typeof answer === "string") res.end(answer)
    else answer(req, res)
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const { port } = server.address() as AddressInfo
  return {
    asked,
    host: `127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}`,
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Gets the chart of a HelmChart with this spec, in a cluster with these Secrets. */
async function got(spec: object, secrets: Readonly<Record<string, object>> = {}): Promise<string> {
  const client = { get: async (_: unknown, { name }: { name: string }) => ({ data: secrets[name] }) }
  const chart = { metadata: { namespace: "default", name: "c" }, spec } as unknown as HelmChart
  return Buffer.from(await packedChart(client as unknown as Client, chart, realClock)).toString()
}

const INDEX = `apiVersion: v1
entries:
  shop:
  - {version: 1.2.0, urls: [shop-1.2.0.tgz]}
  - {version: 2.0.0-rc.1, urls: [shop-2.0.0-rc.1.tgz]}
  - {version: 1.10.0, urls: ["/charts/shop-1.10.0.tgz"]}
`

describe("the chart of a HelmChart", () => {
  test("is in the HelmChart itself", async () => {
    expect(await got({ chartContent: base64("packed") })).toBe("packed")
  })

  test.each([
    { version: undefined, wants: "newest" },
    { version: "1.2.0", wants: "exact" },
    { version: "<1.5", wants: "exact" },
    { version: "~1.10", wants: "newest" },
    { version: "2.0.0-rc.1", wants: "rc" },
  ])("is found in the index of a repository: version $version", async ({ version, wants }) => {
    using server = await serving({
      "/repo/index.yaml": INDEX,
      "/repo/shop-1.2.0.tgz": "exact",
      "/charts/shop-1.10.0.tgz": "newest",
      "/repo/shop-2.0.0-rc.1.tgz": "rc",
    })
    expect(await got({ repo: `${server.url}/repo/`, chart: "shop", version })).toBe(wants)
  })

  test("that a repository does not have is named", async () => {
    using server = await serving({ "/index.yaml": INDEX })
    for (const spec of [{ chart: "shop", version: ">3" }, { chart: "constructor" }])
      await expect(got({ repo: server.url, ...spec })).rejects.toThrow(`not found in ${server.url} repository`)
    await expect(got({ chart: "stable/shop" })).rejects.toThrow('the chart "stable/shop" is no address')
    await expect(got({ chart: "file:///etc/passwd" })).rejects.toThrow("is no address")
  })

  test("is got with credentials, which another host that is redirected to does not get", async () => {
    using elsewhere = await serving({ "/blob": "packed" })
    using server = await serving({
      "/shop.tgz": (_, res) => res.writeHead(302, { location: `${elsewhere.url}/blob` }).end(),
    })
    const secrets = { login: { username: base64("me"), password: base64("secret") } }
    const spec = { chart: `${server.url}/shop.tgz`, authSecret: { name: "login" } }
    expect(await got(spec, secrets)).toBe("packed")
    expect([server.asked, elsewhere.asked]).toEqual([[`/shop.tgz Basic ${base64("me:secret")}`], ["/blob"]])
    expect(await got({ ...spec, authPassCredentials: true }, secrets)).toBe("packed")
    expect(elsewhere.asked[1]).toBe(`/blob Basic ${base64("me:secret")}`)
  })

  test("is got without credentials from another host that the index of the repository names", async () => {
    // given an index with a chart on another host, and with one that redirects to the repository
    using elsewhere = await serving({
      "/shop.tgz": "packed",
      "/back.tgz": (_, res) => res.writeHead(302, { location: `${server.url}/own.tgz` }).end(),
    })
    const index = ["shop", "back"].map(
      (name) => `  ${name}: [{version: 1.0.0, urls: ["${elsewhere.url}/${name}.tgz"]}]\n`,
    )
    using server = await serving({ "/index.yaml": `entries:\n${index.join("")}`, "/own.tgz": "own" })
    const secrets = { login: { username: base64("me"), password: base64("secret") } }
    const spec = { repo: server.url, authSecret: { name: "login" } }
    // when, then
    expect(await got({ ...spec, chart: "shop" }, secrets)).toBe("packed")
    expect(await got({ ...spec, chart: "back" }, secrets)).toBe("own")
    expect(elsewhere.asked).toEqual(["/shop.tgz", "/back.tgz"])
    expect(server.asked.every((asked) => asked.endsWith(` Basic ${base64("me:secret")}`))).toBe(true)
    expect(await got({ ...spec, chart: "shop", authPassCredentials: true }, secrets)).toBe("packed")
    expect(elsewhere.asked[2]).toBe(`/shop.tgz Basic ${base64("me:secret")}`)
  })

  test("is pulled from a registry, with a token where the registry asks for one", async () => {
    // given a registry that gives tokens to a user
    const layer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
    const isAllowed = (req: IncomingMessage, res: ServerResponse): boolean => {
      if (req.headers.authorization === "Bearer t0ken") return true
      const realm = `http://${req.headers.host}/token`
      res.writeHead(401, { "www-authenticate": `Bearer realm="${realm}",service="r",scope="pull"` }).end()
      return false
    }
    const only = (body: string) => (req: IncomingMessage, res: ServerResponse) =>
      isAllowed(req, res) ? void res.end(body) : undefined
    const digest = `sha256:${createHash("sha256").update("packed").digest("hex")}`
    const manifest = JSON.stringify({ layers: [{ mediaType: layer, digest }] })
    const forged = JSON.stringify({ layers: [{ mediaType: layer, digest: digest.replace(/.{4}$/, "0000") }] })
    const long = `sha512:${createHash("sha512").update("packed").digest("hex")}`
    const named = `sha256:${createHash("sha256").update(manifest).digest("hex")}`
    using registry = await serving({
      "/v2/charts/shop/tags/list": only(
        JSON.stringify({ tags: ["1.0.0", "1.2.0", "1.10.0_x", "latest", "2.0.0-rc1"] }),
      ),
      "/v2/charts/shop/manifests/1.2.0": only(manifest),
      "/v2/charts/shop/manifests/1.10.0_x": only(manifest),
      [`/v2/charts/shop/manifests/${named}`]: only(manifest),
      "/v2/charts/shop/manifests/3.0.0": only(forged),
      "/v2/charts/shop/manifests/4.0.0": only(JSON.stringify({ layers: [{ mediaType: layer, digest: long }] })),
      [`/v2/charts/shop/blobs/${long}`]: only("packed"),
      [`/v2/charts/shop/blobs/${digest}`]: only("packed"),
      [`/v2/charts/shop/blobs/${digest.replace(/.{4}$/, "0000")}`]: only("packed"),
      [`/v2/charts/shop/manifests/${digest}`]: only(manifest),
      "/token?service=r&scope=pull": (req, res) =>
        res.end(req.headers.authorization === `Basic ${base64("me:secret")}` ? '{"token":"t0ken"}' : "{}"),
    })
    const auths = { [registry.host]: { username: "me", password: "secret" } }
    const secrets = { docker: { ".dockerconfigjson": base64(JSON.stringify({ auths })) } }
    const spec = {
      chart: `oci://${registry.host}/charts/shop`,
      plainHTTP: true,
      dockerRegistrySecret: { name: "docker" },
    }
    // when, then
    expect(await got({ ...spec, version: "1.2.0" }, secrets)).toBe("packed")
    expect(await got(spec, secrets)).toBe("packed")
    expect(registry.asked).toContain("/v2/charts/shop/manifests/1.10.0_x Bearer t0ken")
    expect(await got({ ...spec, chart: `${spec.chart}@${named}` }, secrets)).toBe("packed")
    expect(await got({ ...spec, version: "4.0.0" }, secrets)).toBe("packed")
    // and what has another digest than was asked for is refused
    await expect(got({ ...spec, version: "3.0.0" }, secrets)).rejects.toThrow("has sent content with the digest")
    await expect(got({ ...spec, chart: `${spec.chart}@${digest}` }, secrets)).rejects.toThrow(
      "has sent content with the digest",
    )
    await expect(got({ ...spec, version: "^3" }, secrets)).rejects.toThrow("has no version in the range ^3")
    await expect(got({ ...spec, dockerRegistrySecret: undefined })).rejects.toThrow("answers 401")
  })
})
