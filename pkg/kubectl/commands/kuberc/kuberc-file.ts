import { dirname, resolve } from "node:path"
import { isJsonObject } from "../../../apimachinery/json/json-value.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import { parseYaml } from "../../../yaml/yaml.ts"
import { writeYaml } from "../../../yaml/write.ts"
import { stringFlag } from "../../command/flag.ts"
import type { Environment } from "../../environment/environment.ts"
import { errorCode, goPathError } from "../../environment/files.ts"
import { preferenceOf } from "../../preferences/decode.ts"
import { kubercPath, type KubercPath } from "../../preferences/kuberc-path.ts"
import type { Preference } from "../../preferences/preference.ts"
import type { Output } from "../../printers/output.ts"

export const kubercFileFlag = () => ({
  kuberc: stringFlag(
    "",
    "The kuberc file with preferences. KUBECTL_KUBERC=false in the environment, or KUBERC=off, turns preferences off.",
  ),
})

/** @throws Error when preferences are off */
export function kubercFile(environment: Environment, flag: string): KubercPath {
  const found = kubercPath(environment, flag)
  if (found === undefined) throw new Error("KUBERC is disabled via KUBERC=off environment variable")
  return found
}

/** Undefined when there is no such file. */
export async function readKuberc({ files, cwd }: Environment, path: string): Promise<string | undefined> {
  try {
    return new TextDecoder().decode(await files.read(resolve(cwd, path)))
  } catch (err) {
    if (errorCode(err) === "ENOENT") return undefined
    throw new Error(`error reading kuberc file: ${errorMessage(goPathError("open", path, err))}`, { cause: err })
  }
}

export function parseKuberc(text: string): Preference {
  try {
    const value = parseYaml(text).value ?? {}
    return isJsonObject(value) ? preferenceOf(value) : (value as Preference)
  } catch (err) {
    throw new Error(`error parsing kuberc file: error converting YAML to JSON: ${errorMessage(err)}`, { cause: err })
  }
}

export async function saveKuberc(
  { files, cwd }: Environment,
  preference: Preference,
  path: string,
  out: Output,
): Promise<void> {
  const at = resolve(cwd, path)
  try {
    await files.mkdir(dirname(at), { recursive: true, mode: 0o755 })
  } catch (err) {
    const why = errorMessage(goPathError("mkdir", dirname(path), err))
    throw new Error(`failed to create directory ${dirname(path)}: ${why}`, { cause: err })
  }
  try {
    await files.write(at, writeYaml(inOrder(preference)), { mode: 0o644 })
  } catch (err) {
    const why = errorMessage(goPathError("open", path, err, { writing: true }))
    throw new Error(`failed to write kuberc file: ${why}`, { cause: err })
  }
  await out.write(`Updated ${path}\n`)
}

/** Returns the preferences with their fields in the order of Go's type, and without any other. */
export const inOrder = (preference: Preference, empty: null | readonly never[] = null): Preference => {
  const { kind, apiVersion, defaults, aliases, credentialPluginPolicy, credentialPluginAllowlist } = preference
  const present = <T>(name: string, value: T | undefined, isEmpty: boolean) =>
    value === undefined || isEmpty ? {} : { [name]: value }
  const options = (list: NonNullable<Preference["aliases"]>[number]["options"]) =>
    list?.map((each) => ({ name: each.name ?? "", default: each.default ?? "" }))
  return {
    ...present("kind", kind, kind === ""),
    ...present("apiVersion", apiVersion, apiVersion === ""),
    defaults:
      defaults?.map((each) => ({ command: each.command ?? "", options: options(each.options ?? undefined) ?? null })) ??
      empty,
    aliases:
      aliases?.map(({ name = "", command = "", prependArgs = [], appendArgs = [], options: list = [] }) => ({
        name,
        command,
        ...present("prependArgs", prependArgs, prependArgs.length === 0),
        ...present("appendArgs", appendArgs, appendArgs.length === 0),
        ...present("options", options(list), list.length === 0),
      })) ?? empty,
    ...present("credentialPluginPolicy", credentialPluginPolicy, credentialPluginPolicy === ""),
    ...present("credentialPluginAllowlist", credentialPluginAllowlist, credentialPluginAllowlist?.length === 0),
  }
}
