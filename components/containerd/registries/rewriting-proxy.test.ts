import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { silent } from "../../../pkg/log/log.ts"
import { RewritingProxy } from "./rewriting-proxy.ts"

const RULES = { "^library/(.*)$": "hub/$1" }
const SWITCHED = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"

describe("RewritingProxy", () => {
  let registry: Server
  let proxy: RewritingProxy
  const asked: { readonly url: string | undefined; readonly authorization: string | undefined }[] = []
  /** Resolves when a request that gets no answer has been left. */
  let left: PromiseWithResolvers<void>
  beforeEach(() => void (left = Promise.withResolvers()))
  afterEach(async () => {
    await proxy.stop()
    registry.close()
    asked.length = 0
  })

  async function start(path = ""): Promise<void> {
    registry = createServer((request, response) => {
      asked.push({ url: request.url, authorization: request.headers.authorization })
      if (request.url?.includes("slow") === true) response.once("close", left.resolve)
      else if (request.url?.includes("switched") === true) request.socket.end(SWITCHED)
      else if (request.url?.includes("moved") === true) response.writeHead(307, { location: "/elsewhere" }).end()
      else response.writeHead(200, { "docker-content-digest": "sha256:ab" }).end("body")
    })
    await new Promise<void>((resolve) => registry.listen(0, "127.0.0.1", resolve))
    const endpoint = new URL(`http://127.0.0.1:${(registry.address() as AddressInfo).port}${path}`)
    proxy = new RewritingProxy({ endpoint, tls: undefined, rewrite: RULES, secret: "s3cret", log: silent })
    await proxy.start()
  }

  test("forwards requests with the rewritten name and the headers of containerd", async () => {
    await start()
    const answer = await fetch(`${proxy.url}/library/app/manifests/1?ns=docker.io`, {
      headers: { authorization: "Basic x" },
    })
    expect(await answer.text()).toBe("body")
    expect(answer.headers.get("docker-content-digest")).toBe("sha256:ab")
    expect(asked).toEqual([{ url: "/v2/hub/app/manifests/1?ns=docker.io", authorization: "Basic x" }])
  })

  test("keeps the path prefix of the endpoint", async () => {
    await start("/v2/team/")
    await fetch(`${proxy.url}/library/app/manifests/1`)
    expect(asked[0]?.url).toBe("/v2/team/hub/app/manifests/1")
  })

  test("resolves a relative redirect against the endpoint", async () => {
    await start()
    const { status, headers } = await fetch(`${proxy.url}/moved/manifests/1`, { redirect: "manual" })
    expect(status).toBe(307)
    expect(headers.get("location")).toBe(`http://127.0.0.1:${(registry.address() as AddressInfo).port}/elsewhere`)
  })

  test("refuses requests without its secret and writes, and forwards none of them", async () => {
    await start()
    const base = `http://${proxy.host}`
    for (const path of ["/v2/library/app/manifests/1", "/other/v2/", "/s3cret/v2x"])
      expect((await fetch(`${base}${path}`)).status).toBe(404)
    expect((await fetch(`${proxy.url}/app/manifests/1`, { method: "PUT", body: "x" })).status).toBe(405)
    expect(asked).toEqual([])
  })

  test("closes the connection to an endpoint that does not answer when containerd cancels the request", async () => {
    await start()
    const pull = new AbortController()
    const answer = fetch(`${proxy.url}/slow/manifests/1`, { signal: pull.signal })
    while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve))
    pull.abort()
    await expect(answer).rejects.toThrow()
    await left.promise
  })

  test("answers 502 when the endpoint switches protocols unasked", async () => {
    await start()
    expect((await fetch(`${proxy.url}/switched/manifests/1`)).status).toBe(502)
  })

  test("answers 502 when the endpoint cannot be reached, so that containerd tries the next one", async () => {
    await start()
    registry.closeAllConnections()
    await new Promise((resolve) => registry.close(resolve))
    expect((await fetch(`${proxy.url}/library/app/manifests/1`)).status).toBe(502)
  })
})
