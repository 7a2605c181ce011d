import type { KubeObject, KubeObjectInput, Resource } from "../../apimachinery/resource.ts"
import { customKind, type CustomObject } from "../custom-kind.ts"
import type { JsonSchema } from "../../apimachinery/structural/json-schema.ts"
import type { Field, Presence } from "./fields.ts"

type SpecField = Field<unknown, never, Presence> | Field<unknown, unknown, Presence>

/** A column of `kubectl get`. One with a priority above 0 is shown by `-o wide` only. */
export interface Column {
  readonly path: string
  readonly type: string
  readonly priority?: number
}

/** One version of a custom resource. */
export interface CustomVersion {
  readonly spec: SpecField
  /** If given, the status is a subresource of its own. */
  readonly status?: SpecField
  /** Whether the version is served; true by default. */
  readonly served?: boolean
  /** Whether objects are stored in this version; by default they are stored in the first one. */
  readonly storage?: boolean
  /** Whether clients that use the version get a warning, with this text if one is given. */
  readonly deprecated?: boolean | string
  /** Columns of `kubectl get`, by their names: a path such as `.spec.size`, or a Column. */
  readonly columns?: Readonly<Record<string, string | Column>>
  /** Paths of fields that field selectors may name, such as `.spec.color`. */
  readonly selectableFields?: readonly string[]
  /** The paths of the scale subresource, which `kubectl scale` uses. */
  readonly scale?: {
    readonly specReplicasPath: string
    readonly statusReplicasPath: string
    readonly labelSelectorPath?: string
  }
}

export interface CustomDefinition<V extends Readonly<Record<string, CustomVersion>>> {
  /** An API group such as `example.com`. */
  readonly group: string
  readonly kind: string
  /** By default the kind in lower case with an s. */
  readonly plural?: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  /** Namespaced by default. */
  readonly scope?: "Namespaced" | "Cluster"
  readonly versions: V
  /**
   * The definition's `conversion`: how objects are converted from one version to another. By default only apiVersion
   * changes.
   */
  readonly conversion?: object
}

type ReadOf<F> = F extends { readonly "~out"?: infer Out } ? Exclude<Out, undefined> : unknown
type SentOf<F> = F extends { readonly "~in"?: infer In } ? Exclude<In, undefined> : unknown

/** The type of a kind, as the client, informers and controllers take it. */
export type KindOf<V extends CustomVersion> = Resource<
  CustomObject<ReadOf<V["spec"]>, ReadOf<V["status"]>>,
  KubeObjectInput & { readonly spec: SentOf<V["spec"]>; readonly status?: SentOf<V["status"]> }
>

/** The type of the objects of a kind, for instance `ObjectOf<typeof Widget>`. */
export type ObjectOf<R> = R extends Resource<infer T, infer _I> ? T : never

/** A manifest of kind CustomResourceDefinition. */
export type DefinitionManifest = {
  readonly apiVersion: "apiextensions.k8s.io/v1"
  readonly kind: "CustomResourceDefinition"
  readonly metadata: { readonly name: string }
  readonly spec: object
}

/**
 * Declares a custom resource once: `crd` is the definition to apply to a cluster, `kinds` names its versions for
 * clients, with the types of their objects.
 *
 *     const { crd, kinds: { v1: Widget } } = defineCustomResource({
 *       group: "example.com",
 *       kind: "Widget",
 *       versions: {
 *         v1: {
 *           spec: s.object({ size: s.integer({ minimum: 1 }), color: s.oneOf("red", "blue").default("red") }),
 *           status: s.object({ ready: s.boolean().optional() }),
 *         },
 *       },
 *     })
 *     type Widget = ObjectOf<typeof Widget>
 *
 * Only the cluster checks what TypeScript cannot express, above all CEL rules.
 */
export function defineCustomResource<const V extends Readonly<Record<string, CustomVersion>>>({
  group,
  kind,
  plural = `${kind.toLowerCase()}s`,
  shortNames,
  categories,
  scope = "Namespaced",
  versions,
  conversion,
}: CustomDefinition<V>): {
  readonly crd: DefinitionManifest
  readonly kinds: { readonly [K in keyof V]: KindOf<V[K]> }
} {
  const all = Object.entries<CustomVersion>(versions)
  const stored = all.find(([, { storage }]) => storage === true) ?? all[0]
  if (stored === undefined) throw new Error(`Cannot define ${kind}: expected at least one version`)
  const crd: DefinitionManifest = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: {
        kind,
        plural,
        singular: kind.toLowerCase(),
        listKind: `${kind}List`,
        ...(shortNames === undefined ? {} : { shortNames }),
        ...(categories === undefined ? {} : { categories }),
      },
      versions: all.map(([name, version]) => manifestOf(name, version, name === stored[0])),
      ...(conversion === undefined ? {} : { conversion }),
    },
  }
  const kinds = Object.fromEntries(
    all.map(([version]) => [version, customKind<KubeObject>({ group, version, kind, plural, scope })]),
  )
  return { crd, kinds: kinds as unknown as { readonly [K in keyof V]: KindOf<V[K]> } }
}

function manifestOf(
  name: string,
  { spec, status, served = true, deprecated = false, columns, selectableFields, scale }: CustomVersion,
  storage: boolean,
): object {
  const schema: JsonSchema = {
    type: "object",
    properties: { spec: spec.schema, ...(status === undefined ? {} : { status: status.schema }) },
    ...(spec.presence === "required" ? { required: ["spec"] } : {}),
  }
  const subresources = { ...(status === undefined ? {} : { status: {} }), ...(scale === undefined ? {} : { scale }) }
  return {
    name,
    served,
    storage,
    ...(deprecated === false ? {} : { deprecated: true }),
    ...(typeof deprecated === "string" ? { deprecationWarning: deprecated } : {}),
    schema: { openAPIV3Schema: schema },
    ...(Object.keys(subresources).length === 0 ? {} : { subresources }),
    ...(columns === undefined
      ? {}
      : {
          additionalPrinterColumns: Object.entries(columns).map(([column, given]) => {
            const { path: jsonPath, ...rest } = typeof given === "string" ? { path: given, type: "string" } : given
            return { name: column, ...rest, jsonPath }
          }),
        }),
    ...(selectableFields === undefined ? {} : { selectableFields: selectableFields.map((jsonPath) => ({ jsonPath })) }),
  }
}
