import { Buffer } from "node:buffer"
import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { command } from "../../command/command.ts"
import { boolFlag, parseBool } from "../../command/flag.ts"
import { base64Fault } from "../../config/base64.ts"
import { CLUSTER_FIELDS, CONTEXT_FIELDS, USER_FIELDS, type FieldForm, type Fields } from "../../config/fields.ts"
import type { Kubeconfig } from "../../config/kubeconfig.ts"
import { modifyConfig, startingConfig } from "../../config/write-kubeconfig.ts"
import { helpError } from "./contexts.ts"

const ENTRIES: Readonly<Record<string, { readonly kind: "clusters" | "users" | "contexts"; readonly fields: Fields }>> =
  {
    clusters: { kind: "clusters", fields: CLUSTER_FIELDS },
    users: { kind: "users", fields: USER_FIELDS },
    contexts: { kind: "contexts", fields: CONTEXT_FIELDS },
  }

/** A place in a kubeconfig: the field of an entry, or the current context. */
interface Place {
  readonly kind: "clusters" | "users" | "contexts" | "current-context"
  /** The name of the entry; undefined for the whole list. */
  readonly name?: string
  readonly path: readonly string[]
  readonly form: FieldForm | undefined
}

/** Names of entries may contain dots: they end before the first part that is a field. */
function placeOf(property: string): Place {
  const [first = "", ...parts] = property.split(".")
  if (first === "current-context") {
    if (parts.length > 0) throw new Error(`unable to parse one or more field values of ${property}`)
    return { kind: "current-context", path: [], form: "text" }
  }
  const known = ENTRIES[first]
  if (known === undefined) throw new Error(`unable to parse ${property} after [] at api.Config`)
  if (parts.length === 0) return { kind: known.kind, path: [], form: undefined }
  const end = parts.slice(1).findIndex((part) => part in known.fields)
  const length = end === -1 ? parts.length : end + 1
  const name = parts.slice(0, length).join(".")
  const path = parts.slice(length)
  let form: FieldForm = known.fields
  for (const [at, part] of path.entries()) {
    if (form === "map" && at === path.length - 1) return { kind: known.kind, name, path, form: "text" }
    const next: FieldForm | undefined = typeof form === "object" ? form[part] : undefined
    if (next === undefined) throw new Error(`unable to parse one or more field values of ${property}`)
    form = next
  }
  return { kind: known.kind, name, path, form: path.length === 0 ? undefined : form }
}

function valueOf(text: string, form: FieldForm | undefined, raw: boolean): unknown {
  if (form === "bool") return parseBool(text)
  if (form === "data") {
    if (raw) return Buffer.from(text).toString("base64")
    const fault = base64Fault(text)
    if (fault !== undefined) throw new Error(`error decoding input value: illegal base64 data at input byte ${fault}`)
    return text
  }
  if (form === "texts") throw new Error("unrecognized slice type. string")
  if (form !== "text") throw new Error("can't set a map to a value: map[]")
  return text
}

/** Changes one field; undefined removes it. */
function change(config: Kubeconfig, place: Place, value: unknown): void {
  const { kind, name, path } = place
  if (kind === "current-context") {
    config.currentContext = value === undefined ? "" : String(value)
    return
  }
  const entries: Map<string, object> = config[kind]
  if (name === undefined) return entries.clear()
  const existing = entries.get(name)
  if (value === undefined && path.length === 0) return void entries.delete(name)
  if (value === undefined && existing === undefined) throw new Error(`current map key \`${name}\` is invalid`)
  const copy = structuredClone(existing ?? {}) as Record<string, unknown>
  let at = copy
  for (const part of path.slice(0, -1)) {
    const next = (at[part] ?? {}) as Record<string, unknown>
    at[part] = next
    at = next
  }
  const last = path.at(-1)!
  if (value === undefined) delete at[last]
  else at[last] = value
  entries.set(name, copy)
  const origin = existing === undefined ? undefined : config.origins.get(existing)
  if (origin !== undefined) config.origins.set(copy, origin)
}

export const setCommand = command({
  use: "set PROPERTY_NAME PROPERTY_VALUE",
  noFlagsInUse: true,
  short: "Set one value in a kubeconfig",
  long: `
Set one value in a kubeconfig.

 PROPERTY_NAME is a path with dots, whose parts are fields, and names of entries. Names may contain no dots.

 PROPERTY_VALUE is the new value. Of fields with data, such as 'certificate-authority-data', it is text in base64, unless the flag --set-raw-bytes is used.

 A field that is there already gets the new value.`,
  example: `
# Set the server of the cluster my-cluster to https://1.2.3.4
kubectl config set clusters.my-cluster.server https://1.2.3.4

# Set the data of the authority of the cluster my-cluster
kubectl config set clusters.my-cluster.certificate-authority-data $(echo "cert_data_here" | base64 -i -)

# Set the cluster of the context my-context to my-cluster
kubectl config set contexts.my-context.cluster my-cluster

# Set the key of the user cluster-admin, which is not in base64
kubectl config set users.cluster-admin.client-key-data cert_data_here --set-raw-bytes=true`,
  flags: {
    "set-raw-bytes": boolFlag(false, "Take PROPERTY_VALUE of a field with data as it is, not as base64."),
  },
  async run(invocation) {
    const { flags, args, factory, environment, out } = invocation
    if (args.length !== 2) throw await helpError(invocation, `Unexpected args: [${args.join(" ")}]`)
    const [property, value] = args as [string, string]
    if (value === "") throw new Error("you cannot use set to unset a property")
    if (property === "") throw new Error("you must specify a property")
    const { rules } = factory.config
    const config = await startingConfig(rules)
    const place = placeOf(property)
    change(config, place, valueOf(value, place.form, flags["set-raw-bytes"]))
    await modifyConfig(environment, rules, config, { relativePaths: false })
    await out.write(`Property ${goQuoted(property)} set.\n`)
  },
})

export const unsetCommand = command({
  use: "unset PROPERTY_NAME",
  noFlagsInUse: true,
  short: "Remove one value from a kubeconfig",
  long: `
Remove one value from a kubeconfig.

 PROPERTY_NAME is a path with dots, whose parts are fields, and names of entries. Names may contain no dots.`,
  example: `
# Have no current context
kubectl config unset current-context

# Remove the namespace of the context foo
kubectl config unset contexts.foo.namespace`,
  async run(invocation) {
    const { args, factory, environment, out } = invocation
    if (args.length !== 1) throw await helpError(invocation, `Unexpected args: [${args.join(" ")}]`)
    const [property = ""] = args
    if (property === "") throw new Error("you must specify a property")
    const { rules } = factory.config
    const config = await startingConfig(rules)
    change(config, placeOf(property), undefined)
    await modifyConfig(environment, rules, config, { relativePaths: false })
    await out.write(`Property ${goQuoted(property)} unset.\n`)
  },
})
