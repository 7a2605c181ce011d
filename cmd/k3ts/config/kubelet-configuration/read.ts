/**
 * What a KubeletConfiguration says, as settings of `--kubelet-arg` and flags of k3ts. Loaded where one is given
 * (`--kubelet-arg=config=FILE`, `--kubelet-arg=config-dir=DIR`).
 */
import { isAbsolute, join } from "node:path"
import { CRASH_BACKOFF } from "../../../../components/kubelet/model/backoff.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { isJsonObject } from "../../../../pkg/apimachinery/json/json-value.ts"
import { parseDuration } from "../../../../pkg/apimachinery/scalars/time.ts"
import { refusal, type ConfigurationError } from "../../../../pkg/config-file/config-file.ts"
import { refusalOf } from "../../k3s/upstream-arg.ts"
import type { GivenSetting } from "../given-setting.ts"
import type { Setting } from "../kubelet-setting.ts"
import { DEFAULT_THRESHOLDS, mergedConfiguration, type ConfigText } from "./files.ts"
import { MEANINGS } from "./meanings.ts"
import { KubeletConfiguration, leavesOf } from "./schema.ts"

export interface ReadConfiguration {
  readonly settings: readonly GivenSetting[]
  /** Flags of k3ts with their values, which count where the flag is not given, and the file that says so. */
  readonly flags: ReadonlyMap<string, { readonly values: readonly string[]; readonly source: string }>
  /** Fields that mean nothing here, each with the reason. */
  readonly idle: readonly { readonly file: string; readonly field: string; readonly why: string }[]
  /** Files of the folder that were left out, since their names do not end with .conf. */
  readonly skipped: readonly string[]
}

const LONGEST_CRASH = "crashLoopBackOff.maxContainerRestartPeriod"

/**
 * Reads the files.
 * @param settings the settings of `--kubelet-arg`, by their names
 * @throws ConfigurationError with file, line, field and mend
 */
export function readKubeletConfiguration(
  { configFile, configFolder }: Pick<GivenSetting, "configFile" | "configFolder">,
  settings: Readonly<Record<string, Setting<GivenSetting>>>,
): ReadConfiguration {
  const { value, saidIn, skipped } = mergedConfiguration(configFile, configFolder)
  const read = { settings: [] as GivenSetting[], flags: new Map(), idle: [] as ReadConfiguration["idle"][number][] }
  const fields = new Map(saidOf(value))
  if (fields.get("mergeDefaultEvictionSettings") === true && isJsonObject(fields.get("evictionHard")))
    fields.set("evictionHard", { ...DEFAULT_THRESHOLDS, ...(fields.get("evictionHard") as object) })

  for (const [field, given] of fields) {
    const file = saidIn.get(field.split(".")[0]!)!
    const refuse = (message: string): ConfigurationError => refusal(file.text, file.path, [{ field, message }])
    const meaning = MEANINGS[field]!
    if ("setting" in meaning) {
      const setting = settings[meaning.setting]!
      const found = setting.read(textFor(meaning.setting, RELATIVE.has(field) ? below(file, given) : given))
      if (found === undefined)
        throw refuse(`${JSON.stringify(given)} must be such that --kubelet-arg takes it: ${setting.form}`)
      read.settings.push(found)
    } else if ("flag" in meaning) {
      const values = valuesFor(field, given, file)
      if (values.length > 0) read.flags.set(meaning.flag, { values, source: `${field} in ${file.path}` })
    } else if ("own" in meaning) {
      if (field === LONGEST_CRASH) read.settings.push(crashesOf(given, refuse))
    } else {
      if (meaning.usual.some((usual) => isSame(usual, given))) continue
      const why = refusalOf(meaning.like, String(given))
      if (why !== undefined) throw refuse(`${JSON.stringify(given)} cannot be used here: ${why}; leave the field out`)
      const { like } = meaning
      if (!("holds" in like)) read.idle.push({ file: file.path, field, why: "idle" in like ? like.idle : "" })
    }
  }
  return { ...read, skipped }
}

/** Paths that are relative to the file that has them. Source: KubeletConfigurationPathRefs. */
const RELATIVE = new Set(["resolvConf", "staticPodPath"])
const below = ({ folder }: ConfigText, path: unknown): string =>
  isAbsolute(String(path)) ? String(path) : join(folder, String(path))

/** Source: ValidateKubeletConfiguration of pkg/kubelet/apis/config/validation. */
function crashesOf(given: unknown, refuse: (message: string) => Error): GivenSetting {
  const ms = parseDuration(String(given)) ?? 0
  if (ms < 1000 || ms > CRASH_BACKOFF.longestMs) throw refuse(`${String(given)} must be 1s to 5m`)
  return { longestCrashMs: ms }
}

/** Returns the fields that are set, by their paths. */
const saidOf = (value: KubeletConfiguration): readonly (readonly [field: string, value: unknown])[] =>
  leavesOf(KubeletConfiguration.fields).flatMap(({ path, isPointer }) => {
    const given = path.split(".").reduce<unknown>((at, name) => (isJsonObject(at) ? at[name] : undefined), value)
    return given === undefined || (!isPointer && isZero(given)) ? [] : [[path, given] as const]
  })

const isZero = (value: unknown): boolean =>
  value === 0 ||
  value === false ||
  value === "" ||
  (typeof value === "string" && msOf(value) === 0) ||
  (Array.isArray(value) && value.length === 0) ||
  (isJsonObject(value) && Object.keys(value).length === 0)

/** Returns the milliseconds of a duration, which has a unit at its end; undefined for other text. */
const msOf = (text: string): number | undefined => (/[hms]$/.test(text) ? parseDuration(text) : undefined)

function isSame(a: unknown, b: unknown): boolean {
  const ms = typeof a === "string" && typeof b === "string" ? msOf(a) : undefined
  return deepEqual(a, b) || (ms !== undefined && ms === msOf(String(b)))
}

/** Returns what `--kubelet-arg NAME=` would be given. */
function textFor(setting: string, value: unknown): string {
  if (Array.isArray(value)) return value.join(",")
  if (!isJsonObject(value)) return String(value)
  const sign = setting === "eviction-hard" || setting === "eviction-soft" ? "<" : "="
  return Object.entries(value)
    .map(([key, one]) => `${key}${sign}${String(one)}`)
    .join(",")
}

interface GivenTaint {
  readonly key?: string
  readonly value?: string
  readonly effect?: string
}

/** Returns the values of a flag of k3ts. */
function valuesFor(field: string, value: unknown, file: ConfigText): readonly string[] {
  if (field === "registerWithTaints")
    return (value as readonly GivenTaint[]).map(
      ({ key = "", value: text = "", effect = "" }) => `${key}${text === "" ? "" : `=${text}`}:${effect}`,
    )
  if (RELATIVE.has(field) && value !== "") return [below(file, value)]
  if (field === "featureGates") return [textFor(field, value)]
  return Array.isArray(value) ? value.map(String) : [String(value)]
}
