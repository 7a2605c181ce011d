import type { FieldSpec, Message, Type } from "../../../pkg/apimachinery/field-spec.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"

/** One declared field of a kind. */
export interface Place {
  readonly resource: Resource
  /** The names of the fields that lead to it, through the first item of a list and one entry of a map. */
  readonly path: readonly string[]
  readonly spec: FieldSpec
  /** The struct that declares it. */
  readonly message: Message
}

/** The server keeps these itself, whatever a client sends. */
const SERVERS_OWN: ReadonlySet<string> = new Set(["managedFields", "apiVersion", "kind"])

/** Returns every field of the statuses of kinds that nodes and controllers write by the subresource. */
export const everyStatusPlace = (resources: readonly Resource[], everywhere = false): readonly Place[] =>
  everyPlace(
    resources.filter(({ subresources }) => subresources?.status !== undefined),
    everywhere,
    "status",
  )

/**
 * Returns every field of the kinds. A field that several kinds or places share, such as those of a pod template, is
 * returned where it is found first, unless `everywhere`.
 */
export function everyPlace(
  resources: readonly Resource[],
  everywhere = false,
  part: "body" | "status" = "body",
): readonly Place[] {
  const found: Place[] = []
  const seen = new Set<FieldSpec>()
  const walk = (resource: Resource, message: Message, path: readonly string[], around: readonly Message[]): void => {
    if (around.includes(message)) return
    for (const [name, { spec }] of Object.entries(message.fields)) {
      if (SERVERS_OWN.has(name) || spec.disabled === true || !isIn(part, path, name)) continue
      const here = [...path, name]
      if (everywhere || !seen.has(spec)) {
        seen.add(spec)
        found.push({ resource, path: here, spec, message })
      }
      const inner = elementOf(spec.type)
      if (inner.kind === "message") walk(resource, inner.message(), here, [...around, message])
    }
  }
  for (const resource of resources) walk(resource, resource.schema, [], [])
  return found
}

const isIn = (part: "body" | "status", path: readonly string[], name: string): boolean =>
  path.length > 0 || (name === "status") === (part === "status")

/** Returns the type of the items of a list or a map, of lists of lists the innermost; other types as they are. */
export function elementOf(type: Type): Type {
  return type.kind === "list" || type.kind === "map" ? elementOf(type.of) : type
}

/** What a path of a field error leads to. */
export interface Found {
  readonly spec: FieldSpec | undefined
  readonly message: Message | undefined
}

/** Returns the field that a path such as `spec.containers[0].name` leads to. */
export function fieldAt(root: Message, path: string): Found {
  let message: Message | undefined = root
  let spec: FieldSpec | undefined
  for (const name of path.replace(/\[[^\]]*\]/g, "").split(".")) {
    const field: { readonly spec: FieldSpec } | undefined =
      message?.fields[name] ?? message?.fields[name.slice(0, 1).toLowerCase() + name.slice(1)]
    if (field === undefined) break
    spec = field.spec
    const inner = elementOf(spec.type)
    message = inner.kind === "message" ? inner.message() : undefined
  }
  return { spec, message }
}
