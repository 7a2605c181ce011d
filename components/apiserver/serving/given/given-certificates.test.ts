import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { connect as connectHttp2 } from "node:http2"
import { request } from "node:https"
import { awaitedLog, type AwaitedLog } from "../../../../pkg/log/awaited-log.fixtures.ts"
import { startHttpServer } from "../http-server.fixtures.ts"
import { OtherAuthority, shown } from "./given-certificates.fixtures.ts"

let authority: OtherAuthority
let log: AwaitedLog
let host: Awaited<ReturnType<typeof startHttpServer>> | undefined
beforeEach(() => {
  authority = new OtherAuthority()
  log = awaitedLog()
})
afterEach(async () => {
  await host?.stop()
  host = undefined
  authority[Symbol.dispose]()
})

const pairOf = (name: string, ...names: readonly string[]) =>
  authority.write(name, authority.issue(name, names.length > 0 ? names : [name]))
const start = async (config: NonNullable<Parameters<typeof startHttpServer>[0]>) =>
  (host = await startHttpServer(config, undefined, log.log))

describe("a server with certificates of its administrator", () => {
  test("shows each client the one for its name, and those without a name, agents and pods the cluster's own", async () => {
    // given a usual one, one by its own names, one by patterns
    const { port } = await start({
      givenCertificates: {
        usual: pairOf("usual.example.org"),
        named: [
          { ...pairOf("one.example.org", "one.example.org", "*.one.example.org"), patterns: [] },
          { ...pairOf("two.example.org"), patterns: ["second.example.org", "*.second.example.org"] },
        ],
      },
    })
    // when clients ask for names
    const names = {
      "usual.example.org": "usual.example.org",
      "nobody.example.com": "usual.example.org",
      "one.example.org": "one.example.org",
      "ONE.example.org": "one.example.org",
      "a.one.example.org": "one.example.org",
      "a.b.one.example.org": "usual.example.org",
      "x.second.example.org": "two.example.org",
      "two.example.org": "two.example.org",
      kubernetes: "kube-apiserver",
      "kubernetes.default.svc.cluster.local": "kube-apiserver",
    }
    const found = await Promise.all(Object.keys(names).map((servername) => shown(port, { servername })))
    // then
    expect(found).toEqual(Object.values(names))
    expect(await shown(port)).toBe("kube-apiserver")
  })

  test("serves HTTP/1.1 and HTTP/2 by it, to clients that trust that authority and sign in by the cluster's", async () => {
    const { port, server } = await start({ givenCertificates: { usual: pairOf("api.example.org"), named: [] } })
    const { certPem: cert, keyPem: key } = server.files!.admin
    const tls = { ca: authority.ca, servername: "api.example.org", cert, key }
    const path = "/api/v1/namespaces/default"

    const over1 = await new Promise<number | undefined>((resolve, reject) => {
      const req = request({ host: "127.0.0.1", port, path, agent: false, ...tls }, (res) => {
        res.resume()
        resolve(res.statusCode)
      })
      req.on("error", reject).end()
    })
    const session = connectHttp2(`https://127.0.0.1:${port}`, tls)
    const over2 = await new Promise((resolve, reject) => {
      session.on("error", reject)
      session.request({ ":path": path }).on("response", (headers) => resolve(headers[":status"]))
    })
    session.close()
    expect([over1, over2]).toEqual([200, 200])
  })

  test("takes no client certificate of the administrator's authority, whatever name is asked for", async () => {
    const { port } = await start({ givenCertificates: { usual: pairOf("api.example.org"), named: [] } })
    const { certPem: cert, keyPem: key } = authority.issue("system:admin")
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const tls = { ca: authority.ca, servername: "api.example.org", cert, key, agent: false }
      request({ host: "127.0.0.1", port, path: "/api", ...tls }, (res) => resolve(res.resume().statusCode))
        .on("error", reject)
        .end()
    })
    expect(status).toBe(401)
  })

  test("shows a changed one to new connections, and keeps the last valid one while the files are wrong", async () => {
    // given
    const files = pairOf("first.example.org")
    const { port } = await start({ givenCertificates: { usual: files, named: [] } })
    const now = () => shown(port, { servername: "api.example.org" })
    expect(await now()).toBe("first.example.org")

    // when the certificate is replaced, and its key not yet
    const second = authority.issue("second.example.org")
    authority.replace(files.certFile, second.certPem)
    const line = await log.line(/Failed to load the changed serving certificate/)
    // then
    expect(line).toContain("the last valid one applies")
    expect(line).toContain(`${files.keyFile}: is not the key of the first certificate of ${files.certFile}`)
    expect(await now()).toBe("first.example.org")

    // when the key comes too
    authority.replace(files.keyFile, second.keyPem)
    await log.line(/Loaded the changed serving certificate/)
    expect(await now()).toBe("second.example.org")
    expect(await shown(port, { servername: "kubernetes" })).toBe("kube-apiserver")
  })

  test("does not start with a wrong file, and names the flag, the file and the mend", async () => {
    const files = { ...pairOf("a"), keyFile: pairOf("b").keyFile }
    const refused = (config: Parameters<typeof startHttpServer>[0]) => expect(startHttpServer(config)).rejects
    await refused({ givenCertificates: { usual: files, named: [] } }).toThrow(
      `--tls-cert-file: ${files.keyFile}: is not the key of the first certificate`,
    )
    await refused({ givenCertificates: { named: [{ ...files, patterns: [] }] } }).toThrow(`--tls-sni-cert-key: `)
  })

  test.each(["kubernetes.default.svc", "KUBERNETES"])(
    "does not start with one for %s, which pods or agents ask for",
    async (pattern) => {
      const given = { named: [{ ...pairOf("a"), patterns: ["fine.example.org", pattern] }] }
      await expect(startHttpServer({ givenCertificates: given })).rejects.toThrow(
        `${pattern} keeps the cluster's own certificate`,
      )
    },
  )
})
