/**
 * Copies a file to S3: in one request if it is small, otherwise part by part (a multipart upload). Only one part is
 * sent at a time, and read as it is sent, so memory does not depend on the size. Source of the requests: the AWS S3 API
 * reference, CreateMultipartUpload and those that belong to it.
 */
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import type { Clock } from "../clock/clock.ts"
import { SnapshotError } from "./format.ts"
import { isSnapshotName } from "./names.ts"
import { textOf, type S3Client } from "./s3-client.ts"

/** S3's limits: the number of parts, and the size of an object in bytes. */
const MOST_PARTS = 10_000
const MOST_BYTES = 5 * 2 ** 40
/** The size of a part in bytes. It must be at least 5 MiB for S3. Larger parts are used if there would be too many. */
const PART_BYTES = 64 * 2 ** 20
/** The age in milliseconds at which an upload without an end counts as abandoned by a process that was killed. */
const ABANDONED_MS = 24 * 3_600_000

export interface Upload {
  readonly key: string
  readonly path: string
  /** The part of the keys before the names of snapshots. */
  readonly prefix: string
  readonly partBytes?: number | undefined
}

/** Copies a file. S3 compares the SHA-256 of each part. When it fails, S3 forgets the parts that it has. */
export async function uploadFile(client: S3Client, clock: Pick<Clock, "now">, upload: Upload): Promise<void> {
  const { key, path, prefix, partBytes = PART_BYTES } = upload
  const { size } = await stat(path)
  if (size > MOST_BYTES)
    throw new SnapshotError(`Cannot copy ${path} to S3: it has ${size} bytes, and S3 accepts at most ${MOST_BYTES}`)
  if (size <= partBytes) {
    const body = await partOf(path, 0, size)
    return void (await client.expect({ method: "PUT", key, body }, 200))
  }
  await removeAbandoned(client, clock, prefix)
  const length = partLength(size, partBytes)
  const headers = { "Content-Type": "application/zstd" }
  const begun = await client.expect({ method: "POST", key, query: { uploads: "" }, headers }, 200)
  const uploadId = textOf(begun.body.toString(), "UploadId")
  if (uploadId === undefined) throw new Error(`S3 has begun the upload of ${key} without an UploadId`)
  try {
    const tags: string[] = []
    for (let start = 0; start < size; start += length) {
      const body = await partOf(path, start, Math.min(length, size - start))
      const query = { partNumber: String(tags.length + 1), uploadId }
      const { headers } = await client.expect({ method: "PUT", key, query, body }, 200)
      tags.push(headers.etag ?? "")
    }
    const parts = tags.map((tag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${tag}</ETag></Part>`)
    const body = `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`
    const done = (await client.expect({ method: "POST", key, query: { uploadId }, body }, 200)).body.toString()
    // S3 sends the status before it has joined the parts, so a failure may have the status 200.
    if (textOf(done, "Code") !== undefined)
      throw new Error(`S3 cannot join the parts of ${key}: ${textOf(done, "Code")}: ${textOf(done, "Message") ?? ""}`)
  } catch (err) {
    await client.lastRequest({ method: "DELETE", key, query: { uploadId } }).catch(() => undefined)
    throw err
  }
}

/** Returns the length of the parts of a file, in bytes. */
export const partLength = (size: number, wanted = PART_BYTES): number => Math.max(wanted, Math.ceil(size / MOST_PARTS))

async function partOf(path: string, start: number, size: number) {
  const hash = createHash("sha256")
  if (size > 0)
    for await (const bytes of createReadStream(path, { start, end: start + size - 1 })) hash.update(bytes as Buffer)
  return { path, start, size, sha256: hash.digest("hex") }
}

/**
 * Has S3 forget the parts of uploads that nobody will end, since they cost as much as objects do. Storage that cannot
 * list uploads, or refuses it, is left alone.
 */
async function removeAbandoned(client: S3Client, clock: Pick<Clock, "now">, prefix: string): Promise<void> {
  const listed = await client.send({ method: "GET", key: "", query: { uploads: "", prefix } })
  if (listed.status !== 200) return
  for (const upload of listed.body.toString().split("<Upload>").slice(1)) {
    const [key = "", uploadId = ""] = [textOf(upload, "Key"), textOf(upload, "UploadId")]
    const age = clock.now() - Date.parse(textOf(upload, "Initiated") ?? "")
    if (!key.startsWith(prefix) || !isSnapshotName(key.slice(prefix.length)) || !(age > ABANDONED_MS)) continue
    await client.send({ method: "DELETE", key, query: { uploadId } })
  }
}
