/**
 * What a field says about how it is patched. Source: apimachinery pkg/util/strategicpatch/meta.go.
 */
export interface FieldMeta {
  readonly strategy: "merge" | "replace" | undefined
  /** Whether a patch names the keys that stay, as for members of a union. */
  readonly retainKeys: boolean
  readonly mergeKey: string | undefined
  /** The fields of its value: of the object, or of each item of a list. */
  readonly fields: PatchMeta
}

/** The fields of an object, as far as they matter to a patch. */
export interface PatchMeta {
  /** @throws Error when there is no such field */
  of(field: string): FieldMeta
}

/**
 * Splits the value of `x-kubernetes-patch-strategy`, one or two strategies with a comma between them.
 * @throws Error when there are more, or two of which none is retainKeys
 */
export function strategiesOf(text: string | undefined): Pick<FieldMeta, "strategy" | "retainKeys"> {
  const strategies = text === undefined || text === "" ? [] : text.split(",")
  const others = strategies.filter((one) => one !== "retainKeys")
  if (others.length > 1) throw new Error(`unexpected patch strategy: [${strategies.join(" ")}]`)
  return { strategy: others[0] as FieldMeta["strategy"], retainKeys: others.length < strategies.length }
}
