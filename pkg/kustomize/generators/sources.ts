/** Reads keys and values for ConfigMaps and Secrets. Source: kustomize api/kv/kv.go. */
import { pushAll } from "../../lists/push-all.ts"
import { Buffer, isUtf8 } from "node:buffer"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import type { GeneratorArgs } from "../kustomization/kustomization.ts"
import type { FileLoader } from "../loader/file-loader.ts"
import { baseName } from "../../apimachinery/go/go-path.ts"
import { withPrefix, withPrefixAsync } from "../node/errors.ts"
import type { Data } from "../resource/data-map.ts"

type Value = string | Uint8Array
type Pair = readonly [key: string, value: Value]

/** Returns what a generator's files, env files and literals say. @throws Error when a key occurs twice */
export async function readSources(loader: FileLoader, args: GeneratorArgs): Promise<Data> {
  const { envs = [], literals = [], files = [] } = args
  const pairs = await withPrefixAsync("loading KV pairs", async () => [
    ...(await withPrefixAsync(`env source files: [${envs.join(" ")}]`, () => envPairs(loader, envs))),
    ...withPrefix(`literal sources [${literals.join(" ")}]`, () => literals.map(literalPair)),
    ...(await withPrefixAsync(`file sources: [${files.join(" ")}]`, () => filePairs(loader, files))),
  ])
  const data = new Map<string, Value>()
  for (const [key, value] of pairs) {
    if (data.has(key)) throw new Error(`configmap ${args.name} illegally repeats the key \`${key}\``)
    data.set(key, value)
  }
  return data
}

async function envPairs(loader: FileLoader, paths: readonly string[]): Promise<readonly Pair[]> {
  const pairs: Pair[] = []
  for (const path of paths) pushAll(pairs, linesOf(await loader.load(path)).flatMap(envPair))
  return pairs
}

/** Returns the lines of a file, without their ends. */
function linesOf(content: Uint8Array): readonly Buffer[] {
  const bytes = Buffer.from(content)
  const lines: Buffer[] = []
  for (let from = 0; from < bytes.length;) {
    const at = bytes.indexOf("\n", from)
    const end = at === -1 ? bytes.length : at
    lines.push(bytes.subarray(from, end > from && bytes[end - 1] === 0x0d ? end - 1 : end))
    from = end + 1
  }
  return lines
}

function envPair(bytes: Buffer, index: number): readonly Pair[] {
  if (!isUtf8(bytes))
    throw new Error(`line [${[...bytes].join(" ")}] has invalid utf8 bytes : ${bytes.toString("latin1")}`)
  const text = bytes.toString("utf8")
  const line = (index === 0 ? text.replace(/^\ufeff/, "") : text).replace(/^[\s\x85]+/, "")
  if (line === "" || line.startsWith("#")) return []
  const at = line.indexOf("=")
  return [at === -1 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)]]
}

function literalPair(source: string): Pair {
  const at = source.indexOf("=")
  if (at <= 0) throw new Error(`invalid literal source ${source}, expected key=value`)
  return [source.slice(0, at), withoutQuotes(source.slice(at + 1))]
}

function withoutQuotes(text: string): string {
  const first = text[0]
  return text.length >= 2 && first === text.at(-1) && (first === '"' || first === "'") ? text.slice(1, -1) : text
}

async function filePairs(loader: FileLoader, sources: readonly string[]): Promise<readonly Pair[]> {
  const pairs: Pair[] = []
  for (const source of sources) {
    const [key, path] = fileSource(source)
    const content = await loader.load(path)
    pairs.push([key, isUtf8(content) ? Buffer.from(content).toString("utf8") : content])
  }
  return pairs
}

/** Returns key and path of `[key=]path`. Without a key it is the file's name. */
function fileSource(source: string): [key: string, path: string] {
  const parts = source.split("=")
  if (parts.length === 1) return [source === "" ? "." : baseName(source), source]
  if (parts.length > 2) throw new Error(`source ${goQuoted(source)} key name or file path contains '='`)
  const [key, path] = parts as [string, string]
  if (key === "") throw new Error(`missing key name for file path ${goQuoted(path)} in source ${goQuoted(source)}`)
  if (path === "") throw new Error(`missing file path for key name ${goQuoted(key)} in source ${goQuoted(source)}`)
  return [key, path]
}
