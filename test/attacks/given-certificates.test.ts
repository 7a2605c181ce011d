/** What files of certificates may do to the server that reads them, and what names may do that clients ask for. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { rmSync, truncateSync } from "node:fs"
import { connect } from "node:net"
import { awaitedLog, type AwaitedLog } from "../../pkg/log/awaited-log.fixtures.ts"
import { OtherAuthority, shown } from "../../components/apiserver/serving/given/given-certificates.fixtures.ts"
import type { PairFiles } from "../../components/apiserver/serving/given/serving-pair.ts"
import { startHttpServer } from "../../components/apiserver/serving/http-server.fixtures.ts"

const MANY = Array.from({ length: 3000 }, (_, i) => `host-${i}.example.org`)
let authority: OtherAuthority
let log: AwaitedLog
let host: Awaited<ReturnType<typeof startHttpServer>>
let files: Readonly<Record<"usual" | "fifo" | "huge", PairFiles>>
beforeAll(async () => {
  authority = new OtherAuthority()
  log = awaitedLog()
  const write = (name: string, names?: readonly string[]) => authority.write(name, authority.issue(name, names))
  files = { usual: write("many", MANY), fifo: write("fifo"), huge: write("huge") }
  const named = [
    { ...files.fifo, patterns: [] },
    { ...files.huge, patterns: MANY.map((name) => `sub.${name}`) },
  ]
  host = await startHttpServer({ givenCertificates: { usual: files.usual, named } }, undefined, log.log)
})
afterAll(async () => {
  await host.stop()
  authority[Symbol.dispose]()
})

test("a certificate of 3,000 names, and 3,000 patterns, are served by each of them", async () => {
  expect(await shown(host.port, { servername: MANY.at(-1)! })).toBe("many")
  expect(await shown(host.port, { servername: `sub.${MANY.at(-1)!}` })).toBe("huge")
})

test("a key that becomes a FIFO is not waited for, and the certificate from before serves on", async () => {
  rmSync(files.fifo.keyFile)
  spawnSync("mkfifo", [files.fifo.keyFile])
  expect(await log.line(/it is a FIFO/)).toContain("the last valid one applies")
  expect(await shown(host.port, { servername: "fifo" })).toBe("fifo")
})

test("a certificate of 100 MB is not read, and the one from before serves on", async () => {
  truncateSync(files.huge.certFile, 100 * 1024 * 1024)
  expect(await log.line(/it has 104857600 bytes, more than 1048576/)).toContain("the last valid one applies")
  expect(await shown(host.port, { servername: `sub.${MANY[0]!}` })).toBe("huge")
})

test.each(["a".repeat(253), "*", "..", "__proto__", "constructor", `${"a.".repeat(126)}a`])(
  "a client that asks for %s gets an answer, and the server goes on",
  async (servername) => {
    await shown(host.port, { servername }).catch((err: Error) => err)
    expect(await shown(host.port, { servername: MANY[0]! })).toBe("many")
  },
)

test("connections that end in the midst of the handshake leave the server as it was", async () => {
  for (let i = 0; i < 50; i++)
    await new Promise<void>((resolve) => {
      const socket = connect(host.port, "127.0.0.1", () => socket.end(Buffer.from("16030100050100000103", "hex")))
      socket.on("error", () => undefined)
      socket.on("close", () => resolve())
      socket.resume()
    })
  expect(await shown(host.port, { servername: MANY[0]! })).toBe("many")
})
