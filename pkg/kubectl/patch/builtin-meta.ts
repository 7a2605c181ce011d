import type { Resource } from "../../apimachinery/resource.ts"
import type { FieldSpec, Message, Type } from "../../apimachinery/field-spec.ts"
import type { GroupVersionKind } from "../rest/rest-mapper.ts"
import type { FieldMeta, PatchMeta } from "./patch-meta.ts"

/**
 * Returns the declaration of a kind of Kubernetes; undefined for kinds that this program does not know. Declarations
 * are loaded only here: a command seldom needs them.
 */
export async function builtinResource({ group, version, kind }: GroupVersionKind): Promise<Resource | undefined> {
  const { RESOURCES } = await import("../../api/resources.ts")
  return RESOURCES.find((one) => one.group === group && one.version === version && one.kind === kind)
}

/** Reads how fields of a kind are patched from its declaration, for servers without OpenAPI. */
export async function builtinMeta(kind: GroupVersionKind): Promise<PatchMeta | undefined> {
  const resource = await builtinResource(kind)
  return resource === undefined ? undefined : metaOf(resource.schema)
}

const metaOf = (message: Message | undefined): PatchMeta => ({
  of(name): FieldMeta {
    const spec = message?.fields[name]?.spec
    if (spec === undefined)
      throw new Error(
        `unable to find api field in struct ${message?.name ?? ""} for the json field ${JSON.stringify(name)}`,
      )
    return fieldMeta(spec)
  },
})

function fieldMeta({ type, patchStrategy = [], patchMergeKey }: FieldSpec): FieldMeta {
  return {
    strategy: patchStrategy.find((one) => one !== "retainKeys") as FieldMeta["strategy"],
    retainKeys: patchStrategy.includes("retainKeys"),
    mergeKey: patchMergeKey,
    fields: metaOf(messageIn(type)),
  }
}

/** The message of a field's value, or of the items of its list. */
function messageIn(type: Type): Message | undefined {
  const inner = type.kind === "list" ? type.of : type
  return inner.kind === "message" ? inner.message() : undefined
}
