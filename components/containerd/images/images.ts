import { createReadStream, readFileSync, readdirSync } from "node:fs"
import { open } from "node:fs/promises"
import { join } from "node:path"
import { pipeline, Readable } from "node:stream"
import { createGunzip, createZstdDecompress } from "node:zlib"
import { CRI_NAMESPACE } from "../../../pkg/cri/containerd-events.ts"
import type { ContainerdPaths } from "../paths.ts"
import { run, type RunOptions } from "../../../pkg/process/run.ts"

/** What counts as an archive in the folder of those to import. */
const ARCHIVE = /\.(tar|tar\.gz|tgz|tar\.zst)$/

/**
 * Imports archives (OCI layout or `docker save`; plain, gzip or zstd), each a path or the bytes, into the containerd of
 * `paths`, which must run. Resolves with the names of their images when they are unpacked. The CRI may show them a few
 * milliseconds later: it follows containerd's events.
 * @throws Error that names the archive's fault in containerd's words
 */
export async function importImages(
  archives: readonly (string | Uint8Array)[],
  paths: ContainerdPaths,
  signal?: AbortSignal,
): Promise<string[]> {
  // Its configuration tells what it was started with, also to another process than the one that supervises it.
  const config = readFileSync(paths.config, "utf8")
  const snapshotter = /^snapshotter = "(\w+)"$/m.exec(config)?.[1] ?? "overlayfs"
  // From 2.0 on ctr lets the daemon read the archive, and does not tell the names.
  const local = /^version = 2$/m.test(config) ? [] : ["--local"]
  const names: string[] = []
  for (const archive of archives) {
    try {
      const input = await openArchive(archive)
      const output = await ctr(paths, ["images", "import", ...local, "--snapshotter", snapshotter, "-"], {
        input,
        ...(signal && { signal }),
      })
      names.push(...importedNames(output))
    } catch (err) {
      const name = typeof archive === "string" ? archive : "the archive"
      throw new Error(`Cannot import ${name}: ${err instanceof Error ? err.message : String(err)}`, { cause: err })
    }
  }
  return names
}

/** `unpacking docker.io/library/busybox:1 (sha256:…)...done` */
function importedNames(output: string): string[] {
  return [...output.matchAll(/^unpacking (\S+) \(/gm)].map((match) => match[1]!)
}

/** The archives users have laid down for import at start, in the order of their names. */
export const archivesToImport = (paths: ContainerdPaths): string[] =>
  readdirSync(paths.images)
    .filter((name) => ARCHIVE.test(name))
    .sort()
    .map((name) => join(paths.images, name))

const ctr = ({ socket }: ContainerdPaths, args: readonly string[], options: RunOptions = {}) =>
  run("ctr", ["--address", socket, "--namespace", CRI_NAMESPACE, ...args], options)

/**
 * The archive as a stream of tar, decompressed if its first bytes say so: ctr does not. The bytes are judged, not the
 * name.
 */
async function openArchive(archive: string | Uint8Array): Promise<Readable> {
  const head = typeof archive === "string" ? await firstBytes(archive, 4) : archive.subarray(0, 4)
  const raw = typeof archive === "string" ? createReadStream(archive) : Readable.from([archive])
  const decompressor = startsWith(head, [0x1f, 0x8b])
    ? createGunzip()
    : startsWith(head, [0x28, 0xb5, 0x2f, 0xfd])
      ? createZstdDecompress()
      : undefined
  // A fault of either ends the stream with that fault, which the reader of the result sees.
  return decompressor === undefined ? raw : pipeline(raw, decompressor, () => undefined)
}

async function firstBytes(path: string, count: number): Promise<Uint8Array> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(new Uint8Array(count), 0, count, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

const startsWith = (bytes: Uint8Array, magic: readonly number[]) => magic.every((byte, i) => bytes[i] === byte)
