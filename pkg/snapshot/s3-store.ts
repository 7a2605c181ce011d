import type { Clock } from "../clock/clock.ts"
import { SnapshotError, readIndex, type SnapshotSource } from "./format.ts"
import { isSnapshotName } from "./names.ts"
import { textOf, type S3Client, type S3Config } from "./s3-client.ts"
import { uploadFile } from "./s3-upload.ts"
import type { ListedSnapshot, SnapshotStore } from "./store.ts"

/** The number of bytes at the end of a snapshot that are read first: they contain the index unless it is very large. */
const END_BYTES = 64 * 1024
const PAGES = 100

/** The snapshots in a bucket of S3-compatible storage. */
export class S3Store implements SnapshotStore {
  readonly #client: S3Client
  readonly #bucket: string
  readonly #prefix: string

  readonly #clock: Clock
  readonly #partBytes: number | undefined

  /** `partBytes` is the length of the parts of an upload; see s3-upload.ts for the usual one. */
  constructor(
    client: S3Client,
    { bucket, folder }: Pick<S3Config, "bucket" | "folder">,
    clock: Clock,
    partBytes?: number,
  ) {
    this.#client = client
    this.#clock = clock
    this.#partBytes = partBytes
    this.#bucket = bucket
    this.#prefix = folder === "" ? "" : `${folder}/`
  }

  close(): void {
    this.#client.close()
  }

  /** Copies a snapshot file to the bucket, which compares its SHA-256, and returns the URL. */
  async upload(name: string, path: string): Promise<string> {
    const [prefix, partBytes] = [this.#prefix, this.#partBytes]
    await uploadFile(this.#client, this.#clock, { key: this.#key(name), path, prefix, partBytes })
    return this.#location(name)
  }

  /** Lists the objects with valid names of snapshots. Reads only the index of each, not the blocks. */
  async list(): Promise<readonly ListedSnapshot[]> {
    const found: { readonly listed: ListedSnapshot; readonly time: number }[] = []
    for (const { name, size, time } of await this.#objects()) {
      const content = await readIndex(this.#source(name, size, END_BYTES)).catch((err: unknown) =>
        err instanceof Error ? err : new Error(String(err)),
      )
      const listed = { name, location: this.#location(name), size, content }
      found.push({ listed, time: content instanceof Error ? time : content.time })
    }
    return found.sort((a, b) => a.time - b.time).map(({ listed }) => listed)
  }

  async delete(name: string): Promise<boolean> {
    const key = this.#key(name)
    const { status } = await this.#client.expect({ method: "HEAD", key }, 200, 404)
    if (status === 404) return false
    await this.#client.expect({ method: "DELETE", key }, 200, 204)
    return true
  }

  /** Reads a snapshot part by part. @throws Error when there is none of this name */
  async open<T>(name: string, use: (source: SnapshotSource) => Promise<T>): Promise<T> {
    const { headers } = await this.#client.expect({ method: "HEAD", key: this.#key(name) }, 200)
    return use(this.#source(name, Number(headers["content-length"] ?? 0), 0))
  }

  #location(name: string): string {
    return `s3://${this.#bucket}/${this.#prefix}${name}`
  }

  #key(name: string): string {
    if (!isSnapshotName(name)) throw new SnapshotError(`Cannot use the snapshot name ${JSON.stringify(name)} in S3`)
    return this.#prefix + name
  }

  /** Returns a source that reads ranges. The last `ahead` bytes are read with one request. */
  #source(name: string, size: number, ahead: number): SnapshotSource {
    const location = this.#location(name)
    const fetched = async (offset: number, length: number): Promise<Buffer> => {
      if (length === 0) return Buffer.alloc(0)
      const headers = { Range: `bytes=${offset}-${offset + length - 1}` }
      const { body } = await this.#client.expect({ method: "GET", key: this.#key(name), headers }, 200, 206)
      if (body.length !== length) throw new SnapshotError(`Cannot read ${location}: it changed while it was read`)
      return body
    }
    const from = Math.max(0, size - ahead)
    let end: Promise<Buffer> | undefined
    return {
      name: location,
      size,
      async read(offset, length) {
        if (ahead === 0 || offset < from) return fetched(offset, length)
        end ??= fetched(from, size - from)
        return (await end).subarray(offset - from, offset - from + length)
      },
    }
  }

  async #objects(): Promise<readonly { name: string; size: number; time: number }[]> {
    const objects: { name: string; size: number; time: number }[] = []
    let token: string | undefined
    for (let page = 0; page < PAGES; page++) {
      const more = token === undefined ? {} : { "continuation-token": token }
      const query = { "list-type": "2", prefix: this.#prefix, delimiter: "/", ...more }
      const xml = (await this.#client.expect({ method: "GET", key: "", query }, 200)).body.toString()
      for (const content of xml.split("<Contents>").slice(1)) {
        const name = textOf(content, "Key")?.slice(this.#prefix.length) ?? ""
        const [size, time] = [Number(textOf(content, "Size")), Date.parse(textOf(content, "LastModified") ?? "")]
        if (isSnapshotName(name) && Number.isSafeInteger(size)) objects.push({ name, size, time: time || 0 })
      }
      token = textOf(xml, "IsTruncated") === "true" ? textOf(xml, "NextContinuationToken") : undefined
      if (token === undefined) return objects
    }
    throw new SnapshotError(
      `Cannot list s3://${this.#bucket}/${this.#prefix}: it has more than ${PAGES * 1000} objects`,
    )
  }
}
