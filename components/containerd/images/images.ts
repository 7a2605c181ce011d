import { createReadStream, readFileSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { pipeline, Readable } from "node:stream"
import { createGunzip, createZstdDecompress } from "node:zlib"
import { CRI_NAMESPACE } from "../../../pkg/cri/containerd-events.ts"
import { withOpenFile } from "../../../pkg/files/owned-file.ts"
import type { ContainerdPaths } from "../paths.ts"
import { run, type RunOptions } from "../../../pkg/process/run.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"

/** Matches the names of archives that are imported at start. */
const ARCHIVE = /\.(tar|tar\.gz|tgz|tar\.zst)$/

/**
 * Imports archives (OCI layout or `docker save`; plain, gzip or zstd), each a path or the bytes, into the containerd of
 * `paths`, which must run. Returns the names of the images after they are unpacked. The CRI may show them a few
 * milliseconds later, since it follows containerd's events.
 * @throws Error with the archive and containerd's message
 */
export async function importImages(
  archives: readonly (string | Uint8Array)[],
  paths: ContainerdPaths,
  signal?: AbortSignal,
): Promise<string[]> {
  // The daemon's own settings: another process may have started the daemon, with other ones.
  const config = readFileSync(paths.config, "utf8")
  const snapshotter = /^snapshotter = "(\w+)"$/m.exec(config)?.[1] ?? "overlayfs"
  // From 2.0 on, ctr without `--local` does not print the names of the images.
  const local = /^version = 2$/m.test(config) ? [] : ["--local"]
  const names: string[] = []
  for (const archive of archives) {
    try {
      const input = await openArchive(archive)
      const output = await ctr(paths, ["images", "import", ...local, "--snapshotter", snapshotter, "-"], {
        input,
        ...(signal && { signal }),
      })
      pushAll(names, importedNames(output))
    } catch (err) {
      const name = typeof archive === "string" ? archive : "the archive"
      throw new Error(`Cannot import ${name}: ${errorMessage(err)}`, { cause: err })
    }
  }
  return names
}

/** Parses lines such as `unpacking docker.io/library/busybox:1 (sha256:…)...done`. */
function importedNames(output: string): string[] {
  return [...output.matchAll(/^unpacking (\S+) \(/gm)].map((match) => match[1]!)
}

/** Returns the archives in the images folder, in the order of their names. */
export const archivesToImport = (paths: ContainerdPaths): string[] =>
  readdirSync(paths.images)
    .filter((name) => ARCHIVE.test(name))
    .sort()
    .map((name) => join(paths.images, name))
    // On a named pipe the import would wait for ever, and those of all others with it.
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)

const ctr = ({ socket }: ContainerdPaths, args: readonly string[], options: RunOptions = {}) =>
  run("ctr", ["--address", socket, "--namespace", CRI_NAMESPACE, ...args], options)

/**
 * Returns the archive as a stream of tar, decompressed if its first bytes show a compression, which ctr does not do.
 * The name of the file does not matter.
 */
async function openArchive(archive: string | Uint8Array): Promise<Readable> {
  const head =
    typeof archive === "string" ? await withOpenFile([archive], (file) => file.read(4, 0)) : archive.subarray(0, 4)
  const raw = typeof archive === "string" ? createReadStream(archive) : Readable.from([archive])
  const decompressor = startsWith(head, [0x1f, 0x8b])
    ? createGunzip()
    : startsWith(head, [0x28, 0xb5, 0x2f, 0xfd])
      ? createZstdDecompress()
      : undefined
  // An error of either stream ends the result with that error, which its reader sees.
  return decompressor === undefined ? raw : pipeline(raw, decompressor, () => undefined)
}

const startsWith = (bytes: Uint8Array, magic: readonly number[]) => magic.every((byte, i) => bytes[i] === byte)
