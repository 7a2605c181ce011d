import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { realClock } from "../clock/real.ts"
import { SnapshotFolder } from "./folder.ts"
import { packedAt } from "./packed.fixtures.ts"
import { S3Client, textOf, type S3Config } from "./s3-client.ts"
import { S3Server } from "./s3-server.fixtures.ts"
import { partLength } from "./s3-upload.ts"
import { S3Store } from "./s3-store.ts"
import { prune } from "./store.ts"
import { openSnapshot } from "./unpack.ts"

let storage: S3Server
let root = ""
let objects: Map<string, Buffer>
let client: S3Client
let config: S3Config

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "k3ts-s3-"))
  storage = new S3Server()
  objects = storage.objects
  config = await storage.start()
  client = new S3Client(config, realClock)
})
afterEach(async () => {
  client.close()
  await storage[Symbol.asyncDispose]()
  rmSync(root, { recursive: true, force: true })
})

describe("snapshots in S3", () => {
  test("are copied, listed in several pages, read in ranges, and pruned", async () => {
    // given three snapshots in a folder, and what is none in the bucket
    const [folder, store] = [new SnapshotFolder(root), new S3Store(client, config, realClock)]
    objects.set("a b/c/notes & more.txt", Buffer.from("no snapshot"))
    objects.set("a b/c/daily-n-1800000009.zst", Buffer.from("damaged"))

    // when they are copied
    for (const seconds of [1_800_000_001, 1_800_000_002, 1_800_000_003]) {
      const name = `daily-n-${seconds}.zst`
      await folder.save(name, packedAt(seconds * 1000))
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
    const failure = await new S3Store(wrong, config, realClock).list().catch((err: unknown) => String(err))
    wrong.close()
    expect(failure).toContain("refused GET bucket/: SignatureDoesNotMatch: no & no")
    expect(failure).not.toMatch(/another-secret|the-access-key/)
  })

  test("are given up after a timeout", async () => {
    // given storage that takes a request and does not answer
    storage.server.removeAllListeners("request")
    storage.server.on("request", () => undefined)
    const impatient = new S3Client({ ...config, timeoutMs: 50 }, realClock)
    await expect(new S3Store(impatient, config, realClock).list()).rejects.toThrow(
      /Cannot reach S3 at .*no answer within 0.05 s/,
    )
    impatient.close()
  })

  test("are not waited for once the client is closed", async () => {
    // given an upload that the storage takes without an answer
    const begun = new Promise<void>((resolve) => {
      storage.server.removeAllListeners("request")
      storage.server.on("request", () => resolve())
    })
    const file = join(root, "a")
    writeFileSync(file, "content")
    const uploading = new S3Store(client, config, realClock).upload("a", file).catch((err: unknown) => String(err))
    await begun

    // when the client is closed, then the upload fails, and each later request
    client.close()
    expect(await uploading).toContain("the client has been closed")
    await expect(new S3Store(client, config, realClock).list()).rejects.toThrow(/the client has been closed/)
  })

  test("cannot have names that lead elsewhere in the bucket", async () => {
    const store = new S3Store(client, config, realClock)
    for (const name of ["../x", "a/b", ""]) await expect(store.delete(name)).rejects.toThrow(/Cannot use the snapshot/)
    expect(storage.seen).toEqual([])
  })
})

describe("a snapshot that is larger than one part", () => {
  const name = "daily-n-1800000001.zst"
  const MIB = 2 ** 20
  /** Writes a file whose bytes differ from part to part. */
  const large = (size: number): string => {
    const path = join(root, "large")
    writeFileSync(path, Buffer.alloc(size, "0123456789abcdef!"))
    return path
  }
  const uploaded = (partBytes: number, path: string) =>
    new S3Store(client, config, realClock, partBytes).upload(name, path)
  const methods = () => storage.seen.map((line) => line.replace(/^(\w+) [^?]+\??/, "$1 ").replace(/uploadId=.*/, "id"))

  test("is copied part by part and joined", async () => {
    const path = large(2 * MIB + 17)
    expect(await uploaded(MIB, path)).toBe(`s3://bucket/a b/c/${name}`)
    expect(objects.get(`a b/c/${name}`)!.equals(readFileSync(path))).toBe(true)
    expect(storage.uploads.size).toBe(0)
    expect(methods()).toEqual([
      "GET uploads=&prefix=a%20b%2Fc%2F",
      "POST uploads=",
      "PUT partNumber=1&id",
      "PUT partNumber=2&id",
      "PUT partNumber=3&id",
      "POST id",
    ])
  })

  test("has parts of 64 MiB, and larger ones where there would be more than S3's limit of 10,000", () => {
    expect(partLength(65 * MIB)).toBe(64 * MIB)
    expect(partLength(5 * 2 ** 40)).toBe(Math.ceil((5 * 2 ** 40) / 10_000))
  })

  test.each([
    { title: "a part is refused", method: "PUT", status: 503, content: "<Error><Code>SlowDown</Code></Error>" },
    {
      title: "the parts cannot be joined",
      method: "POST",
      status: 500,
      content: "<Error><Code>Internal</Code></Error>",
    },
    {
      title: "joining fails after the status 200",
      method: "POST",
      status: 200,
      content: "<Error><Code>InternalError</Code><Message>try again</Message></Error>",
    },
  ])("leaves nothing in S3 when $title", async ({ method, status, content }) => {
    storage.refuse = (request) =>
      request.method === method && /uploadId=/.test(request.url ?? "") && !/partNumber=1&/.test(request.url ?? "")
        ? { status, content }
        : undefined
    await expect(uploaded(MIB, large(2 * MIB))).rejects.toThrow(/SlowDown|Internal/)
    expect([storage.uploads.size, objects.size]).toEqual([0, 0])
  })

  test("leaves nothing in S3 when the server stops meanwhile", async () => {
    // given storage that does not answer the second part
    const begun = new Promise<void>((resolve) => {
      storage.refuse = (request) => {
        if (!/partNumber=2&/.test(request.url ?? "")) return undefined
        resolve()
        throw new Error("closed without an answer")
      }
    })
    const failing = uploaded(MIB, large(2 * MIB)).catch((err: unknown) => String(err))
    await begun
    // when
    client.close()
    // then
    expect(await failing).toMatch(/has been closed|Cannot reach S3/)
    expect([storage.uploads.size, objects.size]).toEqual([0, 0])
  })

  test("has the parts removed that a killed process left more than a day ago", async () => {
    const parts: Buffer[] = []
    const [old, young] = [new Date(Date.now() - 25 * 3_600_000), new Date(Date.now() - 23 * 3_600_000)]
    storage.uploads.set("old", { key: "a b/c/daily-n-1700000000", parts, began: old.toISOString() })
    storage.uploads.set("young", { key: "a b/c/daily-m-1700000000", parts, began: young.toISOString() })
    storage.uploads.set("foreign", { key: "a b/c/else/where", parts, began: old.toISOString() })
    await uploaded(MIB, large(2 * MIB))
    expect([...storage.uploads.keys()]).toEqual(["young", "foreign"])
  })

  test("is copied in little memory, whatever its size", async () => {
    const path = join(root, "sparse")
    const file = openSync(path, "w")
    ftruncateSync(file, 384 * MIB)
    writeSync(file, "end", 384 * MIB - 3)
    closeSync(file)
    storage.isForgetful = true
    let most = 0
    storage.refuse = () => {
      most = Math.max(most, process.memoryUsage.rss())
      return undefined
    }
    const before = process.memoryUsage.rss()
    await uploaded(128 * MIB, path)
    expect(storage.seen.filter((line) => line.startsWith("PUT"))).toHaveLength(3)
    expect((most - before) / MIB).toBeLessThan(128)
  }, 60_000)
})

test("texts of XML are decoded with their entities, and a missing element is undefined", () => {
  expect(textOf("<a><Key>x &lt;&#65;&#x42;&amp;amp; &#xffffff;</Key></a>", "Key")).toBe("x <AB&amp; ")
  expect([textOf("<Key>x", "Key"), textOf("", "Key")]).toEqual([undefined, undefined])
})
