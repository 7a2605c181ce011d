import { expect, test } from "bun:test"
import { createServer, type AddressInfo } from "node:net"
import { client, startProxy } from "../../components/ingress/proxy/proxy.fixtures.ts"
import { seededRandom, type Random } from "../../pkg/clock/random.ts"

const seed = Number(process.env["K3TS_SEED"] ?? 1)
const ROUNDS = Number(process.env["K3TS_FUZZ_PROXY_ROUNDS"] ?? 20)
/** Connections at a time; many, because a request that waits for more bytes takes a whole timeout. */
const AT_ONCE = 20

const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random.next() * items.length)]!
const INSERTED = [
  ...["\r", "\n", "\t", " ", "\0", ":", ";", ",", "\x0b", "\xa0"],
  "\r\n",
  "\r\n\r\n",
  "\r\n ",
  "\n\n",
  "\nContent-Length: 0",
  "\nTransfer-Encoding: chunked",
  "0\r\n\r\n",
  "Content-Length: 3\r\n",
  "Content-Length: 0\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Transfer-Encoding: identity\r\n",
  "Host: b\r\n",
  "Connection: keep-alive, content-length\r\n",
  "Connection: close\r\n",
  "Expect: 100-continue\r\n",
  "HTTP/1.0",
]

/** Returns the text with one to three changes at random places. */
function changed(random: Random, text: string): string {
  for (let left = 1 + Math.floor(random.next() * 3); left > 0; left--) {
    const at = Math.floor(random.next() * text.length)
    const removed = random.next() < 0.5 ? 0 : Math.floor(random.next() * 4)
    text = text.slice(0, at) + pick(random, INSERTED) + text.slice(at + removed)
  }
  return text
}

/**
 * Reads requests as carelessly as some servers: every line feed ends a line, any header that mentions chunks makes the
 * body chunked, and a length is the number at the start of its text. Returns the targets and the rest of the text.
 */
function readCarelessly(text: string): { readonly targets: readonly string[]; readonly rest: string } {
  const targets: string[] = []
  for (;;) {
    const [all = "", head] = /^\s*([^]*?)\r?\n\r?\n/.exec(text) ?? []
    if (head === undefined) return { targets, rest: text }
    const end = /^transfer-encoding[^]*?chunked/im.test(head)
      ? endOfChunks(text, all.length)
      : all.length + Number.parseInt(/^content-length\s*:\s*(\d+)/im.exec(head)?.[1] ?? "0", 10)
    if (end === undefined || end > text.length) return { targets, rest: text }
    targets.push(head.split(" ")[1] ?? "")
    text = text.slice(end)
  }
}

/** Returns where chunks and trailers end that begin at `at`; undefined when their end has not come. */
function endOfChunks(text: string, at: number): number | undefined {
  for (;;) {
    const feed = text.indexOf("\n", at)
    if (feed < 0) return undefined
    const size = Number.parseInt(text.slice(at, feed), 16)
    at = feed + 1
    if (!(size > 0)) break
    at += size
    at += /^\r?\n/.exec(text.slice(at, at + 2))?.[0].length ?? 0
  }
  const trailers = /^(?:[^\r\n]+\r?\n)*\r?\n/.exec(text.slice(at))
  return trailers === null ? undefined : at + trailers[0].length
}

test(`a careless backend sees no request that the proxy has not seen (K3TS_SEED=${seed})`, async () => {
  // given
  const random = seededRandom(seed)
  const seen: string[] = []
  const server = createServer((socket) => {
    let text = ""
    socket.on("error", () => undefined)
    socket.on("data", (bytes) => {
      const { targets, rest } = readCarelessly(text + bytes.toString("latin1"))
      text = rest
      seen.push(...targets)
      for (const _target of targets) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const proxy = await startProxy({
    endpoints: [(server.address() as AddressInfo).port],
    policy: { responseMs: 200, idleMs: 200 },
    limits: { headMs: 200, idleMs: 200 },
  })
  const attack = async (name: string): Promise<void> => {
    const hidden = `GET /hidden-${name} HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n`
    const framed =
      random.next() < 0.5
        ? `Content-Length: ${hidden.length}\r\n\r\n${hidden}`
        : `Transfer-Encoding: chunked\r\n\r\n${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\nX: y\r\n\r\n`
    const request = `POST /open-${name} HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(80)}\r\n${framed}`
    const last = `GET /last-${name} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
    const browser = await client(proxy.port)
    browser.send(changed(random, request) + last)
    await browser.untilEnd()
    browser.socket.destroy()
  }
  // when
  for (let round = 0; round < ROUNDS; round++)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => attack(`${round}-${i}`)))
  await proxy[Symbol.asyncDispose]()
  // then
  const known = new Set(proxy.finished.map(({ request }) => request.target))
  expect(seen.filter((url) => !known.has(url))).toEqual([])
  expect(seen.length).toBeGreaterThan((ROUNDS * AT_ONCE) / 10)
  server.close()
})
