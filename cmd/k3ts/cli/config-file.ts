/**
 * The config file, and the files in the folder beside it: `/etc/k3ts/config.yaml`, and after it those of
 * `/etc/k3ts/config.yaml.d` in the order of their names. A key of a later file replaces that of an earlier one; a key
 * with `+` at its end adds to it. Source: k3s pkg/configfilearg/parser.go, docs installation/configuration.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type * as yaml from "yaml"
import { foreignFlag, type ForeignFlags } from "./foreign-flags.ts"
import { unreadable } from "../../../pkg/files/unreadable.ts"
import { didYouMean } from "../../../pkg/names/suggest.ts"
import { UsageError } from "./usage-error.ts"

/** What a config file may say. */
export interface ConfigVocabulary {
  /** The flags that are keys. */
  readonly keys: readonly string[]
  readonly foreign: ForeignFlags
}

/** The values of a key, and the file that gave the last of them. */
export interface ConfigEntry {
  readonly path: string
  readonly values: readonly string[]
}

/** The contents of all files: flag → its entry. */
export interface ConfigEntries {
  readonly entries: ReadonlyMap<string, ConfigEntry>
}

/** A line of one file: a flag with its values, which replace or extend those of earlier files. */
interface Setting {
  readonly flag: string
  readonly values: readonly string[]
  readonly adds: boolean
}

/**
 * Reads the file at `path` and those in the folder `<path>.d`; `optional` says whether the first may be missing.
 * @throws UsageError that names the file and what is wrong in it
 */
export function readConfig(
  path: string,
  vocabulary: ConfigVocabulary,
  { optional }: { readonly optional: boolean },
): ConfigEntries {
  const entries = new Map<string, ConfigEntry>()
  const first = readText(path, optional)
  const files = [...(first === undefined ? [] : [[path, first] as const]), ...readFolder(`${path}.d`)]
  for (const [file, text] of files)
    for (const { flag, values, adds } of parseConfig(text, file, vocabulary))
      entries.set(flag, { path: file, values: adds ? [...(entries.get(flag)?.values ?? []), ...values] : values })
  return { entries }
}

function readFolder(folder: string): readonly (readonly [path: string, text: string])[] {
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException
    if (code === "ENOENT") return []
    throw new UsageError(`cannot read the folder of config files ${folder}: ${message}`)
  }
  return names
    .filter((name) => /\.ya?ml$/.test(name))
    .sort()
    .map((name) => [join(folder, name), readText(join(folder, name), false)!] as const)
}

function readText(path: string, optional: boolean): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException
    if (code === "ENOENT" && optional) return undefined
    throw new UsageError(
      `cannot read the config file ${path}: ${unreadable(path) ?? message} (by --config or K3TS_CONFIG)`,
    )
  }
}

/** Loads `yaml` with the first config file, since that takes some 20 ms and most servers have none. */
const loadYaml = (): typeof yaml => require("yaml") // oxlint-disable-line typescript/no-require-imports

/** @throws UsageError */
function parseConfig(text: string, path: string, vocabulary: ConfigVocabulary): readonly Setting[] {
  // A file without content is common, and YAML takes 2 ms to load.
  if (text.split("\n").every((line) => /^\s*(#|$)/.test(line))) return []
  const { isMap, isScalar, isSeq, parseDocument } = loadYaml()
  const document = parseDocument(text, { uniqueKeys: true })
  const fault = document.errors[0]
  if (fault !== undefined)
    throw new UsageError(`${path} is not YAML: ${fault.message.split("\n")[0]!.replace(/:$/, "")}`)
  const { contents } = document
  if (contents === null || (isScalar(contents) && contents.value === null)) return []
  if (!isMap(contents)) throw new UsageError(`${path} must be a map of flags, as in: https-listen-port: 6443`)
  return grouped(
    contents.items.flatMap(({ key, value }) => {
      const written = String((key as yaml.Scalar).value)
      const adds = written.endsWith("+")
      const name = adds ? written.slice(0, -1) : written
      const values = isSeq(value) ? value.items.map(textOf) : [textOf(value)]
      return settingsOf(name, values, path, vocabulary).map((setting) => ({ ...setting, adds: adds || setting.adds }))
    }),
  )
}

/** Returns what a key sets; for a foreign key each flag that it becomes. @throws UsageError for an unknown key */
function settingsOf(
  name: string,
  values: readonly (string | undefined)[],
  path: string,
  { keys, foreign }: ConfigVocabulary,
): readonly Setting[] {
  const stranger = keys.includes(name) ? undefined : foreignFlag(name, foreign, `${name} in ${path}`)
  if (stranger === undefined && !keys.includes(name))
    throw new UsageError(`unknown key "${name}" in ${path}${didYouMean(name, keys)}`)
  const texts = values.filter((value) => value !== undefined)
  if (texts.length < values.length)
    throw new UsageError(
      `invalid value for ${name} in ${path}: must be a text, a number, true or false, or a list of those`,
    )
  return stranger === undefined
    ? [{ flag: name, values: texts, adds: false }]
    : texts
        .flatMap((value) => stranger.becomes(value))
        .map(([flag, value]) => ({ flag, values: [value], adds: stranger.adds === true }))
}

/** Joins what several keys of one file say of the same flag, as foreign keys do. */
function grouped(settings: readonly Setting[]): readonly Setting[] {
  const byFlag = new Map<string, Setting>()
  for (const { flag, values, adds } of settings) {
    const before = byFlag.get(flag)
    byFlag.set(flag, {
      flag,
      values: [...(before?.values ?? []), ...values],
      adds: adds && (before?.adds ?? true),
    })
  }
  return [...byFlag.values()]
}

/** Returns a scalar as it was written: 0644 stays 0644. */
function textOf(node: unknown): string | undefined {
  if (!loadYaml().isScalar(node) || node.value === null) return undefined
  return typeof node.value === "string" ? node.value : (node.source ?? String(node.value))
}
