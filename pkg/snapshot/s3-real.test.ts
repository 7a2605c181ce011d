import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { realClock } from "../clock/real.ts"
import { SnapshotFolder } from "./folder.ts"
import { packedAt } from "./packed.fixtures.ts"
import { S3Client, type S3Config } from "./s3-client.ts"
import { S3Store } from "./s3-store.ts"
import { prune } from "./store.ts"
import { openSnapshot } from "./unpack.ts"

// A server of S3 that others wrote, so that what this project believes of S3 is not tested against itself. It checks
// no signatures of version 4, and knows neither a list of unfinished uploads nor their end: s3.test.ts has those.
const S3RVER = join(dirname(createRequire(import.meta.url).resolve("s3rver/package.json")), "bin/s3rver.js")

let root = ""
let server: Bun.Subprocess<"ignore", "pipe", "inherit">
let config: S3Config
let client: S3Client

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "k3ts-s3-"))
  server = Bun.spawn(
    [
      ...[process.execPath, S3RVER, "--silent", "--directory", join(root, "storage")],
      ...["--address", "127.0.0.1", "--port", "0", "--configure-bucket", "backups"],
    ],
    { stdin: "ignore", stdout: "pipe", stderr: "inherit" },
  )
  config = {
    endpoint: await addressOf(server.stdout),
    region: "us-east-1",
    bucket: "backups",
    folder: "k3ts/production",
    // The only keys that the server knows.
    accessKey: "S3RVER",
    secretKey: "S3RVER",
    insecure: true,
    skipVerify: false,
    timeoutMs: 5000,
  }
  client = new S3Client(config, realClock)
})
afterAll(async () => {
  client?.close()
  server?.kill()
  await server?.exited
  rmSync(root, { recursive: true, force: true })
})

/** Reads where the server listens from what it prints. */
async function addressOf(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = ""
  for await (const part of output) {
    text += new TextDecoder().decode(part)
    const [, address] = /listening on (127\.0\.0\.1:\d+)/.exec(text) ?? []
    if (address !== undefined) return address
  }
  throw new Error(`the server of S3 ended, and printed: ${text}`)
}

test("snapshots are copied to a real S3 server, listed, read, pruned and deleted", async () => {
  // given three snapshots in a folder
  const [folder, store] = [new SnapshotFolder(join(root, "folder")), new S3Store(client, config, realClock)]
  const seconds = [1_800_000_001, 1_800_000_002, 1_800_000_003]
  const nameOf = (second: number) => `daily-n-${second}.zst`

  // when they are copied
  for (const second of seconds) {
    await folder.save(nameOf(second), packedAt(second * 1000, `secret of ${second}`))
    await store.upload(nameOf(second), folder.pathOf(nameOf(second)))
  }

  // then they are there with their contents
  const names = async () => (await store.list()).map(({ name, content }) => (content instanceof Error ? content : name))
  expect(await names()).toEqual(seconds.map(nameOf))
  const records = await store.open(nameOf(seconds[1]!), async (source) =>
    Array.fromAsync((await openSnapshot(source)).records()),
  )
  expect(records).toEqual([{ path: "token", content: Buffer.from(`secret of ${seconds[1]}`) }])

  // and the old ones go
  expect(await prune(store, { base: "daily", node: "n", keep: 1 })).toHaveLength(2)
  expect(await names()).toEqual([nameOf(seconds[2]!)])
  expect(await store.delete(nameOf(seconds[2]!))).toBe(true)
  expect(await names()).toEqual([])
})

test("a real S3 server joins the parts of a large snapshot to the same bytes", async () => {
  // given a file of two and a half parts, of the smallest length that S3 allows
  const partBytes = 5 * 2 ** 20
  const content = Buffer.alloc(2.5 * partBytes, "0123456789abcdef!")
  const [name, file] = ["daily-n-1800000004.zst", join(root, "large")]
  writeFileSync(file, content)

  // when it is copied
  await new S3Store(client, config, realClock, partBytes).upload(name, file)

  // then the server has it
  const { body } = await client.expect({ method: "GET", key: `${config.folder}/${name}` }, 200)
  expect(body.equals(content)).toBe(true)
})

test("the words of a real S3 server are told when it refuses a key", async () => {
  const wrong = new S3Client({ ...config, accessKey: "nobody" }, realClock)
  const failure = await new S3Store(wrong, config, realClock).list().catch((err: unknown) => String(err))
  wrong.close()
  expect(failure).toContain("InvalidAccessKeyId: The AWS Access Key Id you provided does not exist in our records.")
})
