import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { createHash, createHmac } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { realClock } from "../clock/real.ts"
import { SnapshotFolder } from "./folder.ts"
import { packSnapshot } from "./pack.ts"
import { S3Client, textOf, type S3Config } from "./s3-client.ts"
import { S3Store } from "./s3-store.ts"
import { prune } from "./store.ts"
import { openSnapshot } from "./unpack.ts"

const [ACCESS, SECRET] = ["the-access-key", "the-secret-key"]
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest()

/**
 * Whether a request was signed with the secret key, worked out anew. Source: AWS, Signature Version 4, "Create a signed
 * AWS API request".
 */
function isSigned({ method, url = "", headers }: IncomingMessage, body: Buffer): boolean {
  const [, scope = "", names = "", signature] =
    /Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)/.exec(headers.authorization ?? "") ?? []
  const [path = "", query = ""] = url.split("?")
  const canonical = [
    method,
    path,
    query.split("&").sort().join("&"),
    ...names.split(";").map((name) => `${name}:${String(headers[name])}`),
    "",
    names,
    headers["x-amz-content-sha256"],
  ].join("\n")
  const hash = (content: string | Buffer) => createHash("sha256").update(content).digest("hex")
  const toSign = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hash(canonical)].join("\n")
  const key = scope.split("/").reduce<string | Buffer>((above, part) => hmac(above, part), `AWS4${SECRET}`)
  return hmac(key, toSign).toString("hex") === signature && hash(body) === headers["x-amz-content-sha256"]
}

let server: Server
let root = ""
let objects: Map<string, Buffer>
let seen: string[]
let client: S3Client
let config: S3Config

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "k3ts-s3-"))
  objects = new Map()
  seen = []
  server = createServer(async (request, response) => {
    const body = Buffer.concat((await Array.fromAsync(request)) as Buffer[])
    const answer = (status: number, content: string | Buffer = "") => {
      response.writeHead(status, { "content-length": Buffer.byteLength(content) })
      response.end(request.method === "HEAD" ? undefined : content)
    }
    const { pathname, searchParams } = new URL(request.url ?? "", "http://x")
    seen.push(`${request.method} ${pathname}`)
    if (!isSigned(request, body))
      return answer(403, `<Error><Code>SignatureDoesNotMatch</Code><Message>no &amp; no</Message></Error>`)
    const key = decodeURIComponent(pathname).replace(/^\/bucket\//, "")
    if (request.method === "PUT") objects.set(key, body)
    if (request.method === "DELETE") objects.delete(key)
    if (request.method === "GET" && key === "") return answer(200, listed(searchParams))
    const found = objects.get(key)
    if (found === undefined) return answer(request.method === "DELETE" ? 204 : 404)
    const [, from = "0", to = String(found.length - 1)] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? "") ?? []
    if (request.method === "HEAD") response.setHeader("content-length", found.length)
    return request.method === "HEAD"
      ? void response.writeHead(200).end()
      : answer(request.headers.range === undefined ? 200 : 206, found.subarray(Number(from), Number(to) + 1))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  config = {
    endpoint: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: "us-east-1",
    bucket: "bucket",
    folder: "a b/c",
    accessKey: ACCESS,
    secretKey: SECRET,
    insecure: true,
    skipVerify: false,
    timeoutMs: 5000,
  }
  client = new S3Client(config, realClock)
})
afterEach(() => {
  client.close()
  server.close()
  server.closeAllConnections()
  rmSync(root, { recursive: true, force: true })
})

/** One object on a page. */
function listed(query: URLSearchParams): string {
  const keys = [...objects.keys()].filter((key) => key.startsWith(query.get("prefix") ?? "")).sort()
  const at = Number(query.get("continuation-token") ?? 0)
  const content = keys
    .slice(at, at + 1)
    .map(
      (key) =>
        `<Contents><Key>${key.replaceAll("&", "&amp;")}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>` +
        `<Size>${objects.get(key)!.length}</Size></Contents>`,
    )
  const next = at + 1 < keys.length ? `<NextContinuationToken>${at + 1}</NextContinuationToken>` : ""
  return `<ListBucketResult><IsTruncated>${next !== ""}</IsTruncated>${content.join("")}${next}</ListBucketResult>`
}

const pack = (time: number) =>
  packSnapshot(
    {
      info: { revision: 5, time, version: "1", node: "n", cluster: "u" },
      files: [{ path: "token", content: Buffer.from("secret") }],
      objects: [],
    },
    "zstd",
  )

describe("snapshots in S3", () => {
  test("are copied, listed in several pages, read in ranges, and pruned", async () => {
    // given three snapshots in a folder, and what is none in the bucket
    const [folder, store] = [new SnapshotFolder(root), new S3Store(client, config)]
    objects.set("a b/c/notes & more.txt", Buffer.from("no snapshot"))
    objects.set("a b/c/daily-n-1800000009.zst", Buffer.from("damaged"))

    // when they are copied
    for (const seconds of [1_800_000_001, 1_800_000_002, 1_800_000_003]) {
      const name = `daily-n-${seconds}.zst`
      await folder.save(name, pack(seconds * 1000))
      expect(await store.upload(name, folder.pathOf(name))).toBe(`s3://bucket/a b/c/${name}`)
    }

    // then they are there, and the one that is damaged is told
    expect((await store.list()).map(({ name, content }) => [name, content instanceof Error])).toEqual([
      ["daily-n-1800000009.zst", true],
      ["daily-n-1800000001.zst", false],
      ["daily-n-1800000002.zst", false],
      ["daily-n-1800000003.zst", false],
    ])
    const records = await store.open("daily-n-1800000002.zst", async (source) =>
      Array.fromAsync((await openSnapshot(source)).records()),
    )
    expect(records).toEqual([{ path: "token", content: Buffer.from("secret") }])
    expect(await prune(store, { base: "daily", node: "n", keep: 1 })).toHaveLength(2)
    expect([...objects.keys()].filter((key) => key.includes("daily")).sort()).toEqual([
      "a b/c/daily-n-1800000003.zst",
      "a b/c/daily-n-1800000009.zst",
    ])
    expect([await store.delete("daily-n-1800000003.zst"), await store.delete("daily-n-1800000003.zst")]).toEqual([
      true,
      false,
    ])
  })

  test("fail with the storage's own message, without keys", async () => {
    const wrong = new S3Client({ ...config, secretKey: "another-secret" }, realClock)
    const failure = await new S3Store(wrong, config).list().catch((err: unknown) => String(err))
    wrong.close()
    expect(failure).toContain("refused GET bucket/: SignatureDoesNotMatch: no & no")
    expect(failure).not.toMatch(/another-secret|the-access-key/)
  })

  test("are given up after a timeout", async () => {
    // given storage that takes a request and does not answer
    server.removeAllListeners("request")
    server.on("request", () => undefined)
    const impatient = new S3Client({ ...config, timeoutMs: 50 }, realClock)
    await expect(new S3Store(impatient, config).list()).rejects.toThrow(/Cannot reach S3 at .*no answer within 0.05 s/)
    impatient.close()
  })

  test("are not waited for once the client is closed", async () => {
    // given an upload that the storage takes without an answer
    const begun = new Promise<void>((resolve) => {
      server.removeAllListeners("request")
      server.on("request", () => resolve())
    })
    const file = join(root, "a")
    writeFileSync(file, "content")
    const uploading = new S3Store(client, config).upload("a", file).catch((err: unknown) => String(err))
    await begun

    // when the client is closed, then the upload fails, and each later request
    client.close()
    expect(await uploading).toContain("the client has been closed")
    await expect(new S3Store(client, config).list()).rejects.toThrow(/the client has been closed/)
  })

  test("cannot have names that lead elsewhere in the bucket", async () => {
    const store = new S3Store(client, config)
    for (const name of ["../x", "a/b", ""]) await expect(store.delete(name)).rejects.toThrow(/Cannot use the snapshot/)
    expect(seen).toEqual([])
  })
})

test("texts of XML are decoded with their entities, and a missing element is undefined", () => {
  expect(textOf("<a><Key>x &lt;&#65;&#x42;&amp;amp; &#xffffff;</Key></a>", "Key")).toBe("x <AB&amp; ")
  expect([textOf("<Key>x", "Key"), textOf("", "Key")]).toEqual([undefined, undefined])
})
