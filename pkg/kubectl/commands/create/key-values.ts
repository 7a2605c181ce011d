import { basename, join } from "node:path"
import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { patternMessage } from "../../../apimachinery/validation/names.ts"
import { goPathError, type FileStat } from "../../environment/files.ts"
import type { Factory } from "../../factory/factory.ts"
import { stringArrayFlag, stringSliceFlag } from "../../command/flag.ts"

/** Takes a key and its value. @throws Error for a key that may not be, or is there already */
export type AddKey = (key: string, value: Uint8Array) => void

/** The flags that name the data of a ConfigMap or Secret. */
export const keyValueFlags = (what: string) => ({
  "from-file": stringSliceFlag(
    [],
    `A file, whose name becomes the key, or a key and a file: key=path. Of a folder, every file whose name may be a key of a ${what} is taken.`,
  ),
  "from-literal": stringArrayFlag([], `A key and its value, as in mykey=somevalue.`),
  "from-env-file": stringSliceFlag([], `A file with lines key=value, each of which becomes a key of the ${what}.`),
})

/** @throws Error where flags are set that do not go together */
export function checkSources(files: readonly string[], literals: readonly string[], envFiles: readonly string[]): void {
  if (envFiles.length > 0 && (files.length > 0 || literals.length > 0))
    throw new Error("from-env-file cannot be combined with from-file or from-literal")
}

/** Reads `--from-literal`. Source: kubectl pkg/util/util.go (ParseLiteralSource). */
export function addLiterals(sources: readonly string[], add: AddKey): void {
  for (const source of sources) {
    const at = source.indexOf("=")
    if (at < 1) throw new Error(`invalid literal source ${source}, expected key=value`)
    add(source.slice(0, at), Buffer.from(source.slice(at + 1)))
  }
}

/** Reads `--from-file`. */
export async function addFiles(factory: Factory, sources: readonly string[], add: AddKey): Promise<void> {
  const { files } = factory.environment
  for (const source of sources) {
    const [key, path] = fileSource(source)
    if (!(await statOf(factory, path)).isDirectory) {
      add(key, await factory.readFile(path))
      continue
    }
    if (source.includes("=")) throw new Error("cannot give a key name for a directory path")
    for (const name of await files.list(path)) {
      const file = join(path, name)
      if ((await files.stat(file, { link: true }))?.isFile === true) add(name, await factory.readFile(file))
    }
  }
}

/** Source: kubectl pkg/util/util.go (ParseFileSource). */
function fileSource(source: string): readonly [key: string, path: string] {
  const parts = source.split("=")
  const [key = "", path = ""] = parts
  if (parts.length === 1) return [basename(source), source]
  if (parts.length > 2) throw new Error("key names or file paths cannot contain '='")
  if (key === "") throw new Error(`key name for file path ${path} missing`)
  if (path === "") throw new Error(`file path for key name ${key} missing`)
  return [key, path]
}

async function statOf({ environment }: Factory, path: string): Promise<FileStat> {
  const failed = (message: string) => new Error(`error reading ${path}: ${message}`)
  let stat: FileStat | undefined
  try {
    stat = await environment.files.stat(path)
  } catch (err) {
    throw failed(goPathError("stat", path, err).message.replace(`stat ${path}: `, ""))
  }
  if (stat === undefined) throw failed("no such file or directory")
  return stat
}

/** Reads `--from-env-file`. Source: kubectl pkg/cmd/util/env_file.go. */
export async function addEnvFiles(
  factory: Factory,
  paths: readonly string[],
  what: string,
  add: AddKey,
): Promise<void> {
  for (const path of paths) {
    if ((await statOf(factory, path)).isDirectory) throw new Error(`env ${what} file cannot be a directory`)
    const lines = splitLines(await factory.readFile(path))
    for (const [index, line] of lines.entries()) addLine(line, { path, index, factory, add })
  }
}

interface Line {
  readonly path: string
  /** From 0. */
  readonly index: number
  readonly factory: Factory
  readonly add: AddKey
}

/** The white space that Go's unicode.IsSpace knows. */
const LEADING_SPACE = /^[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/

function addLine(bytes: Uint8Array, { path, index, factory, add }: Line): void {
  const decoded = utf8Of(bytes)
  if (decoded === undefined)
    throw new Error(`env file ${path} contains invalid utf8 bytes at line ${index + 1}: [${bytes.join(" ")}]`)
  const text = (index === 0 ? decoded.replace(/^\ufeff/, "") : decoded).replace(LEADING_SPACE, "")
  if (text === "" || text.startsWith("#")) return
  const at = text.indexOf("=")
  const key = at === -1 ? text : text.slice(0, at)
  checkVariable(key)
  // A line that is only a name takes its value from the environment.
  const value = at === -1 ? (factory.environment.variables[key] ?? "") : text.slice(at + 1)
  add(key, Buffer.from(value))
}

const VARIABLE = "[-._a-zA-Z][-._a-zA-Z0-9]*"

/** kubectl's rule is stricter than the server's. @throws Error */
export function checkVariable(name: string): void {
  const problems: string[] = []
  if (!new RegExp(`^${VARIABLE}$`).test(name))
    problems.push(
      patternMessage(
        "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit",
        VARIABLE,
        "my.env-name",
        "MY_ENV.NAME",
        "MyEnvName1",
      ),
    )
  if (name === ".") problems.push("must not be '.'")
  else if (name === "..") problems.push("must not be '..'")
  else if (name.startsWith("..")) problems.push("must not start with '..'")
  if (problems.length > 0) throw new Error(`${goQuoted(name)} is not a valid key name: ${problems.join(";")}`)
}

function splitLines(data: Uint8Array): readonly Uint8Array[] {
  const lines: Uint8Array[] = []
  for (let start = 0; start < data.length;) {
    const newline = data.indexOf(10, start)
    const end = newline === -1 ? data.length : newline
    lines.push(data.subarray(start, end > start && data[end - 1] === 13 ? end - 1 : end))
    start = end + 1
  }
  return lines
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Returns bytes as text; undefined where they are no UTF-8. */
export function utf8Of(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes)
  } catch {
    return undefined
  }
}
