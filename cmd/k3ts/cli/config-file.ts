import { readFileSync } from "node:fs"
import { isMap, isScalar, isSeq, parseDocument, type Scalar } from "yaml"
import { didYouMean } from "./suggest.ts"
import { UsageError } from "./usage-error.ts"

/** The contents of a config file: flag → its value, or its values when it is a list. */
export interface ConfigEntries {
  readonly path: string
  readonly entries: ReadonlyMap<string, readonly string[]>
}

/** Reads a YAML file whose keys are flags. @throws UsageError that names the file and what is wrong in it */
export function readConfigFile(
  path: string,
  known: readonly string[],
  { optional }: { readonly optional: boolean },
): ConfigEntries | undefined {
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException
    if (code === "ENOENT" && optional) return undefined
    throw new UsageError(
      `cannot read the config file ${path}: ${code === "ENOENT" ? "there is no such file" : message}`,
    )
  }
  return { path, entries: parseConfig(text, path, known) }
}

/** @throws UsageError */
function parseConfig(text: string, path: string, known: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const document = parseDocument(text, { uniqueKeys: true })
  const fault = document.errors[0]
  if (fault !== undefined)
    throw new UsageError(`${path} is not YAML: ${fault.message.split("\n")[0]!.replace(/:$/, "")}`)
  const { contents } = document
  const entries = new Map<string, readonly string[]>()
  if (contents === null || (isScalar(contents) && contents.value === null)) return entries
  if (!isMap(contents)) throw new UsageError(`${path} must be a map of flags, as in: https-listen-port: 6443`)
  for (const { key, value } of contents.items) {
    const name = String((key as Scalar).value)
    if (!known.includes(name)) throw new UsageError(`unknown key "${name}" in ${path}${didYouMean(name, known)}`)
    const texts = isSeq(value) ? value.items.map(textOf) : [textOf(value)]
    if (texts.includes(undefined))
      throw new UsageError(
        `invalid value for ${name} in ${path}: must be a text, a number, true or false, or a list of those`,
      )
    entries.set(
      name,
      texts.filter((one) => one !== undefined),
    )
  }
  return entries
}

/** Returns a scalar as it was written: 0644 stays 0644. */
function textOf(node: unknown): string | undefined {
  if (!isScalar(node) || node.value === null) return undefined
  return typeof node.value === "string" ? node.value : (node.source ?? String(node.value))
}
