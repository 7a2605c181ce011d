import { errorMessage } from "../../../errors/error-message.ts"
import { parseYaml } from "../../../yaml/yaml.ts"
import { goPathError, type Files } from "../../environment/files.ts"
import { builtinResource } from "../../patch/builtin-meta.ts"
import type { Container } from "../../polymorphic/pod.ts"
import type { DebugPod } from "./profiles.ts"

/** Fields of a container that are merged into the one of a profile. Source: kubectl pkg/cmd/debug/debug.go. */
export type CustomProfile = Readonly<Record<string, unknown>>

export async function readCustomProfile(files: Files, path: string): Promise<CustomProfile | undefined> {
  let text: string
  try {
    text = new TextDecoder().decode(await files.read(path))
  } catch (err) {
    const { message } = goPathError("open", path, err)
    throw new Error(`must pass a container spec json file for custom profile: ${message}`, { cause: err })
  }
  try {
    const { value } = parseYaml(text)
    if (value === null || value === undefined) return undefined
    if (typeof value !== "object" || Array.isArray(value)) throw new Error("it is no object")
    return value as CustomProfile
  } catch (err) {
    throw new Error(`${path} does not contain a valid container spec: ${errorMessage(err)}`, { cause: err })
  }
}

/** @throws Error when it has fields that belong to the command line */
export function checkCustomProfile(custom: CustomProfile | undefined): void {
  const isSet = (field: string) => {
    const value = custom?.[field]
    return value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0)
  }
  if (["name", "command", "image", "lifecycle", "volumeDevices"].some(isSet))
    throw new Error("name, command, image, lifecycle and volume devices are not modifiable via custom profile")
}

/** Merges the fields into a container of a pod. */
export async function customize(
  { spec, metadata }: DebugPod,
  name: string,
  custom: CustomProfile,
  field: "containers" | "ephemeralContainers",
): Promise<void> {
  const list = spec[field] ?? []
  const index = list.findIndex((each) => each.name === name)
  if (index === -1) {
    const kind = field === "containers" ? "container" : "ephemeral container"
    throw new Error(`unable to find the ${name} ${kind} in the pod ${metadata?.name ?? ""}`)
  }
  const schema = await containerSchema()
  const { applyStrategicMergePatch } = await import("../../../apimachinery/patch/strategic.ts")
  list[index] = applyStrategicMergePatch(schema, list[index]!, { ...custom, name }) as Container
}

/** The declaration of a container, which says how its lists merge. */
async function containerSchema() {
  const pod = await builtinResource({ group: "", version: "v1", kind: "Pod" })
  const spec = pod?.schema.fields["spec"]?.spec.type
  const containers = spec?.kind === "message" ? spec.message().fields["containers"]?.spec.type : undefined
  if (containers?.kind !== "list" || containers.of.kind !== "message") throw new Error("the kind Pod is unknown")
  return containers.of.message()
}
