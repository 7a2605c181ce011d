import { PassThrough } from "node:stream"
import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { goPathError, type Files } from "../../environment/files.ts"
import type { Output } from "../../printers/output.ts"
import { cleanPath, folderOf, joinPath } from "../../../apimachinery/go/go-path.ts"
import { isWithin, remotePath, withoutShortcuts } from "./paths.ts"
import { runInPod, type Copy } from "./run-in-pod.ts"
import { readTar, type ReadEntry } from "./tar-reader.ts"

export interface CopyFromPod extends Copy {
  /** How often to go on after the archive broke off; less than 0 for always. */
  readonly retries: number
  /** What the program is called, for a message: `kubectl`. */
  readonly program: string
}

/** Copies files of a container to this machine. Source: kubectl pkg/cmd/cp/cp.go. */
export async function copyFromPod(copy: CopyFromPod): Promise<void> {
  const { source, target, errOut } = copy
  const { files } = copy.factory.environment
  const prefix = withoutShortcuts(remotePath(cleanPath(remotePath(source.path.replace(/^[/\\]+/, "")))))
  const bytes = archiveOf(copy)
  let isWarned = false
  for await (const entry of readTar(bytes)) {
    if (!entry.name.startsWith(prefix)) throw new Error("tar contents corrupted")
    const path = joinPath(target.path, remotePath(entry.name.slice(prefix.length)))
    if (!isWithin(target.path, path)) {
      await errOut.write(`warning: file ${goQuoted(path)} is outside target destination, skipping\n`)
      continue
    }
    await makeFolder(files, folderOf(path))
    if (entry.type === "directory") await makeFolder(files, path)
    else if (entry.type === "symlink") {
      await errOut.write(linkWarning(copy, path, entry, !isWarned))
      isWarned = true
    } else await writeFile(files, path, entry)
  }
  // What comes after the end of the archive is nothing; then the command says how it ended.
  for await (const _ of bytes.rest());
}

function linkWarning({ source, program }: CopyFromPod, path: string, { target }: ReadEntry, isFirst: boolean): string {
  const hint = `(consider using "${program} exec -n ${goQuoted(source.namespace)} ${goQuoted(source.pod)} -- tar cf - ${goQuoted(source.path)} | tar xf -")`
  return `warning: skipping symlink: ${goQuoted(path)} -> ${goQuoted(target)}${isFirst ? ` ${hint}` : ""}\n`
}

/** The bytes of tar in the container, which can be read on after the end of the archive. */
interface Archive extends AsyncIterable<Uint8Array> {
  /** What is left of the run of tar. @throws ExitError when it failed */
  rest(): AsyncIterable<Uint8Array>
}

function archiveOf(copy: CopyFromPod): Archive {
  const { source, retries, out } = copy
  const run = (from: number) => outputOf(copy, tarCommand(source.path, retries, from))
  let current = run(0)
  return {
    async *[Symbol.asyncIterator]() {
      let bytes = 0
      for (let tries = 0; ;) {
        for (let next = await current.next(); next.done !== true; next = await current.next()) {
          bytes += next.value.length
          yield next.value
        }
        if (retries >= 0 && tries >= retries) {
          await out.write(`Dropping out copy after ${tries} retries\n`)
          return
        }
        tries++
        await out.write(`Resuming copy at ${bytes} bytes, retry ${tries}/${retries}\n`)
        current = run(bytes + 1)
      }
    },
    rest: () => current,
  }
}

/** With retries, tar runs in a shell that leaves out what has come already. */
function tarCommand(path: string, retries: number, from: number): readonly string[] {
  if (retries === 0) return ["tar", "cf", "-", path]
  return ["sh", "-c", `tar cf - '${path.replaceAll("'", "'\\''")}' | tail -c+${from}`]
}

/** The output of a command, as it comes. Its errors are printed to the output, as upstream does. */
async function* outputOf(copy: CopyFromPod, words: readonly string[]): AsyncGenerator<Uint8Array, void, undefined> {
  const pipe = new PassThrough()
  const stdout: Output = {
    write: (part) => new Promise((resolve) => void pipe.write(part, () => resolve())),
  }
  let failure: { readonly error: unknown } | undefined
  void runInPod(copy, copy.source, words, { stdout, stderr: copy.out })
    .catch((error: unknown) => {
      failure = { error }
    })
    .finally(() => pipe.end())
  yield* pipe as AsyncIterable<Uint8Array>
  if (failure !== undefined) throw failure.error
}

/** Makes a folder and those above it. */
async function makeFolder(files: Files, path: string): Promise<void> {
  const stat = await files.stat(path)
  if (stat?.isDirectory === true) return
  if (stat !== undefined) throw new Error(`mkdir ${path}: not a directory`)
  await makeFolder(files, folderOf(path))
  try {
    await files.mkdir(path, { mode: 0o755 })
  } catch (err) {
    throw goPathError("mkdir", path, err)
  }
}

async function writeFile(files: Files, path: string, { data }: ReadEntry): Promise<void> {
  let file
  try {
    file = await files.open(path)
  } catch (err) {
    throw goPathError("open", path, err, { writing: true })
  }
  try {
    for await (const part of data) await file.write(part)
  } finally {
    await file.close()
  }
}
