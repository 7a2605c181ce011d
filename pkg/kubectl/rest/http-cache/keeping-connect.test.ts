import { afterEach, beforeEach, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import type { Connect } from "../../environment/connect.ts"
import { hostFiles } from "../../environment/host-files.ts"
import { KeptResponses } from "./kept-responses.ts"
import { keepingConnect } from "./keeping-connect.ts"

const ADDRESS = "https://server:6443/openapi/v3/apis/apps/v1?hash=AB&timeout=32s"
const NAME = createHash("sha256").update(ADDRESS).digest("hex")
const DATE = "Mon, 30 Nov 2026 06:00:00 GMT"
const NOW = Date.parse(DATE)
const JSON_ACCEPTED = { Accept: "application/json", "Accept-Encoding": "gzip" }

let folder: string
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), "kept-")), "http")
})
afterEach(() => rm(join(folder, ".."), { recursive: true }))

interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** A client of a server that gives these answers, one after another. `asked` are the headers that were sent. */
function stage(answers: readonly Answer[], now = NOW) {
  const asked: Readonly<Record<string, unknown>>[] = []
  const connect: Connect = {
    dial: () => Promise.reject(new Error("nothing is dialed")),
    send({ headers: sent }) {
      const { status = 200, headers = {}, body = "" } = answers[asked.push(sent) - 1]!
      const bytes = Buffer.from(body as string)
      const response = { status, headers, warnings: [], protocol: "HTTP/2.0", cancel: () => undefined }
      return Promise.resolve({ ...response, body: pieces([bytes.subarray(0, 3), bytes.subarray(3)]) })
    },
  }
  const kept = new KeptResponses({ folder, files: hostFiles, random: { next: () => 0.5 } })
  const keeping = keepingConnect({ connect, kept, clock: { now: () => now }, addressOf: ({ href }) => href })
  const get = async (headers: Readonly<Record<string, string>> = JSON_ACCEPTED) => {
    const { status, body } = await keeping.send({ method: "GET", url: new URL(ADDRESS), headers, tls: {} })
    const parts: Uint8Array[] = []
    for await (const part of body) parts.push(part)
    return `${status} ${Buffer.concat(parts).toString()}`
  }
  return { get, asked }
}

async function* pieces(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const part of parts) yield await Promise.resolve(part)
}

test("a response with an ETag is asked for again with it, and what has not changed is not sent again", async () => {
  // given a server whose second answer is that nothing has changed, and whose third has a new document
  const { get, asked } = stage([
    { headers: { etag: '"1"', "cache-control": "no-cache, private", date: DATE }, body: "first" },
    { status: 304, headers: { etag: '"1"', "cache-control": "no-cache, private" } },
    { headers: { etag: '"2"' }, body: "second" },
    { status: 304 },
  ])
  // when it is asked four times
  const got = [await get(), await get(), await get(), await get()]
  // then each request but the first names what the client has
  expect(got).toEqual(["200 first", "200 first", "200 second", "200 second"])
  expect(asked.map((headers) => headers["If-None-Match"])).toEqual([undefined, '"1"', '"1"', '"2"'])
})

const YEAR = "Tue, 30 Nov 2027 06:00:00 GMT"
const HOUR_S = 3600
test.each<[what: string, headers: Readonly<Record<string, string>>, seconds: number, requests: number]>([
  ["that may be kept for a year", { expires: YEAR, "cache-control": "public, immutable" }, 0, 1],
  ["whose year has passed", { expires: YEAR, "cache-control": "public, immutable" }, 366 * 24 * HOUR_S, 2],
  ["that may be kept for an hour", { "cache-control": "public, max-age=3600" }, HOUR_S - 1, 1],
  ["whose hour has passed", { "cache-control": "public, max-age=3600", expires: YEAR }, HOUR_S, 2],
  ["that is to be asked for each time", { expires: YEAR, "cache-control": "no-cache" }, 0, 2],
  ["that must not be on a disk", { expires: YEAR, "cache-control": "no-store" }, 0, 2],
  ["without a word about it", {}, 0, 2],
])("a response %s is used or asked for again", async (_, headers, seconds, requests) => {
  // given one that was received
  const [answer, again] = [{ headers: { etag: '"1"', date: DATE, ...headers }, body: "document" }, { body: "again" }]
  await stage([answer]).get()
  // when another run needs it, some seconds later
  const { get, asked } = stage([again], NOW + seconds * 1000)
  const got = await get()
  // then it is asked for, or not
  expect([asked.length + 1, got]).toEqual([requests, requests === 1 ? "200 document" : "200 again"])
})

test("a response that depends on a header of the request is for requests with this header only", async () => {
  // given a document as JSON
  const varied = { etag: '"1"', vary: "Accept-Encoding, Accept", date: DATE, expires: YEAR }
  const { get, asked } = stage([
    { headers: varied, body: "{}" },
    { headers: varied, body: "protobuf" },
  ])
  await get()
  // when it is wanted as JSON, whatever the packing, and as protobuf
  const got = [await get({ Accept: "application/json" }), await get({ Accept: "application/protobuf" })]
  // then only the latter is asked for, as if nothing was there
  expect(got).toEqual(["200 {}", "200 protobuf"])
  expect(asked.map((headers) => headers["If-None-Match"])).toEqual([undefined, undefined])
})

test("a response is kept unpacked, in a file of upstream's form, name and mode", async () => {
  // given a packed response
  const { get } = stage([
    {
      headers: {
        etag: '"1"',
        "content-encoding": "gzip",
        "content-length": "33",
        connection: "keep-alive",
        vary: "Accept",
        date: DATE,
      },
      body: gzipSync("document"),
    },
  ])
  // when it was received
  expect(await get()).toBe("200 document")
  // then the file has the name that the address gives, and a checksum before the response
  const bytes = await readFile(join(folder, NAME))
  const response = bytes.subarray(32)
  expect(bytes.subarray(0, 32)).toEqual(createHash("sha256").update(response).digest())
  const lines = ["HTTP/2.0 200 OK", `Date: ${DATE}`, 'Etag: "1"', "Vary: Accept"]
  expect(response.toString()).toBe([...lines, "X-Varied-Accept: application/json", "", "document"].join("\r\n"))
  const modes = await Promise.all([folder, join(folder, NAME)].map(async (path) => (await stat(path)).mode & 0o777))
  expect(modes.map((mode) => mode.toString(8))).toEqual(["750", "660"])
  expect(await readdir(join(folder, ".diskv-temp"))).toEqual([])
})

/** A file as upstream's kubectl has it. */
async function put(response: string, sum = createHash("sha256").update(response).digest()): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, NAME), Buffer.concat([sum, Buffer.from(response)]))
}

const HEAD = `Date: ${DATE}\r\nExpires: ${YEAR}\r\nEtag: "1"\r\nVary: Accept\r\nX-Varied-Accept: application/json`

test.each([
  ["over HTTP/2", `HTTP/2.0 200 OK\r\nConnection: close\r\n${HEAD}\r\n\r\ndocument`],
  ["with its length", `HTTP/1.1 200 OK\r\nContent-Length: 8\r\n${HEAD}\r\n\r\ndocument`],
  ["in parts", `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n${HEAD}\r\n\r\n5\r\ndocum\r\n3\r\nent\r\n0\r\n\r\n`],
])("a response that upstream's kubectl has kept is used: %s", async (_, response) => {
  // given
  await put(response)
  // when and then nothing is asked for
  expect(await stage([]).get()).toBe("200 document")
})

test.each([
  ["is empty", () => mkdir(folder, { recursive: true }).then(() => writeFile(join(folder, NAME), ""))],
  ["has another checksum", () => put(`HTTP/2.0 200 OK\r\n${HEAD}\r\n\r\ndocument`, Buffer.alloc(32))],
  ["has no head", () => put("document")],
  ["is no response", () => put(`document\r\n${HEAD}\r\n\r\ndocument`)],
  ["has a line without a name", () => put(`HTTP/2.0 200 OK\r\n${HEAD}\r\n: x\r\n\r\ndocument`)],
  ["ends too early", () => put(`HTTP/1.1 200 OK\r\nContent-Length: 9\r\n${HEAD}\r\n\r\ndocument`)],
  ["has half of a part", () => put(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n${HEAD}\r\n\r\n9\r\ndocument`)],
  ["is of an error", () => put(`HTTP/2.0 404 Not Found\r\n${HEAD}\r\n\r\ndocument`)],
  ["is a folder", () => mkdir(join(folder, NAME), { recursive: true })],
])("a file is as good as none that %s", async (_, damage) => {
  // given
  await damage()
  // when the response is needed
  const { get, asked } = stage([{ body: "anew" }])
  // then it is asked for without a word about the file
  expect(await get()).toBe("200 anew")
  expect(asked).toEqual([JSON_ACCEPTED])
})

test("an answer that is no document does not take the place of the kept one", async () => {
  // given a kept document
  const etag = { headers: { etag: '"1"' } }
  const { get, asked } = stage([{ ...etag, body: "document" }, { status: 503, body: "busy" }, { status: 304 }])
  await get()
  // when the server is busy for a while
  const got = [await get(), await get()]
  // then the document is still there
  expect(got).toEqual(["503 busy", "200 document"])
  expect(asked.at(-1)).toMatchObject({ "If-None-Match": '"1"' })
})

test("what was kept longest ago is removed for a new response, when there is more than 128 MiB", async () => {
  // given files of 100 MiB, of 20 MiB and of 10 MiB, from the oldest to the newest
  await mkdir(folder, { recursive: true })
  for (const [i, size] of [100, 20, 10].entries()) {
    const path = join(folder, String(size))
    await writeFile(path, "")
    await truncate(path, size * 1024 * 1024)
    await utimes(path, 1000 + i, 1000 + i)
  }
  // when a response is kept
  await stage([{ headers: { etag: '"1"' }, body: "document" }]).get()
  // then the oldest has gone
  expect((await readdir(folder)).sort()).toEqual([".diskv-temp", "10", "20", NAME].sort())
})

test("a response is used where it cannot be kept", async () => {
  // given a folder that is a file
  await writeFile(folder, "")
  // when and then
  const { get } = stage([{ headers: { etag: '"1"' }, body: "document" }])
  expect(await get()).toBe("200 document")
})
