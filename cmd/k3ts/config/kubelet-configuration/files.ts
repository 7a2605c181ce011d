/**
 * The files of a KubeletConfiguration: one, and those of a folder that are merged over it in the order of their names.
 * Source: cmd/kubelet/app/server.go loadConfigFile, mergeKubeletConfigurations. Differs from upstream: a field that is
 * not known is refused in the files of the folder too.
 */
import { readdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { DEFAULT_HARD } from "../../../../components/kubelet/model/thresholds.ts"
import { applyMergePatch } from "../../../../pkg/apimachinery/patch/merge.ts"
import {
  ConfigurationError,
  embeddedConfiguration,
  parseConfiguration,
  type ConfigurationKind,
} from "../../../../pkg/config-file/config-file.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { readRegularFile } from "../../../../pkg/files/regular-file.ts"
import { pushAll } from "../../../../pkg/lists/push-all.ts"
import { parseYaml } from "../../../../pkg/yaml/yaml.ts"
import { KubeletConfiguration } from "./schema.ts"

const KIND: ConfigurationKind<typeof KubeletConfiguration> = {
  apiVersions: ["kubelet.config.k8s.io/v1beta1"],
  kind: "KubeletConfiguration",
  schema: KubeletConfiguration,
}

/** The thresholds of a kubelet that is given none, as the field `evictionHard` has them. */
export const DEFAULT_THRESHOLDS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(DEFAULT_HARD).map(([signal, amount]) => [
    signal,
    "fraction" in amount ? `${amount.fraction * 100}%` : String(amount.count),
  ]),
)

/** No configuration of a person is larger, in bytes. */
const LARGEST = 1024 * 1024
const ENDING = ".conf"

/** A file, its text, and the folder to which its paths are relative. */
export interface ConfigText {
  readonly path: string
  readonly text: string
  readonly folder: string
}

export interface MergedConfiguration {
  readonly value: KubeletConfiguration
  /** The file that said the last word about a field of the first level. */
  readonly saidIn: ReadonlyMap<string, ConfigText>
  /** Files of the folder that were not read, since their names do not end with .conf. */
  readonly skipped: readonly string[]
}

/** Reads and merges the files. @throws ConfigurationError with file, line, field and mend */
export function mergedConfiguration(file: string | undefined, folder: string | undefined): MergedConfiguration {
  const saidIn = new Map<string, ConfigText>()
  const [dropIns, skipped] = folder === undefined ? [[], []] : filesBelow(folder)
  let merged: Readonly<Record<string, unknown>> = { apiVersion: KIND.apiVersions[0], kind: KIND.kind }
  for (const path of [...(file === undefined ? [] : [file]), ...dropIns]) {
    const said = read(path)
    const json = said.json
    for (const field of Object.keys(json)) saidIn.set(field, said.of)
    merged = applyMergePatch(merged, json) as typeof merged
    // As upstream: the file gets the default thresholds, into which those of the folder are merged.
    if (path === file && merged["evictionHard"] === undefined && dropIns.length > 0)
      merged = { ...merged, evictionHard: DEFAULT_THRESHOLDS }
  }
  const place = { text: "", file: file ?? folder ?? "", at: "" }
  const { value } = embeddedConfiguration(merged, place, [KIND])
  return { value: value as KubeletConfiguration, saidIn, skipped }
}

function read(path: string): { readonly of: ConfigText; readonly json: Readonly<Record<string, unknown>> } {
  let text: string | undefined
  try {
    text = readRegularFile(path, LARGEST)
  } catch (err) {
    throw new ConfigurationError(`${path}: ${errorMessage(err)}`, { cause: err })
  }
  if (text === undefined) throw new ConfigurationError(`${path}: there is no such file: write it, or name another one`)
  parseConfiguration(text, path, [KIND])
  return {
    of: { path, text, folder: dirname(path) },
    json: parseYaml(text).value as Readonly<Record<string, unknown>>,
  }
}

/** Returns the files of a folder and the folders below it in the order of upstream's walk, and those that are left out. */
function filesBelow(folder: string): readonly [read: string[], skipped: string[]] {
  let entries
  try {
    entries = readdirSync(folder, { withFileTypes: true })
  } catch (err) {
    throw new ConfigurationError(`${folder}: cannot be read as a folder of .conf files: ${errorMessage(err)}`, {
      cause: err,
    })
  }
  const [found, skipped]: [string[], string[]] = [[], []]
  for (const entry of entries.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      const [inner, left] = filesBelow(path)
      pushAll(found, inner)
      pushAll(skipped, left)
    } else (entry.name.endsWith(ENDING) ? found : skipped).push(path)
  }
  return [found, skipped]
}
