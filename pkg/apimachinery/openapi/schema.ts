import { basicZeroOf } from "../decoding/decoder-zeros.ts"
import type { FieldSpec, Type, Message } from "../field-spec.ts"
import { f } from "../fields.ts"
import { ListMeta } from "../meta.ts"
import { markersOf } from "./markers.ts"
import { customDefinition } from "./structural.ts"
import type { Steps } from "./steps.ts"

/**
 * JSON schemas of messages for OpenAPI v2 and v3. A `Definitions` object belongs to one document: a reference to a
 * message adds the message, and all to which it refers, to the definitions. Source of the extensions: kube-openapi
 * pkg/generators, apimachinery's struct tags.
 */
export type Schema = Readonly<Record<string, unknown>>

/** Types that are structs in Go and have their own definitions. */
const SPECIAL: Readonly<
  Partial<Record<Type["kind"], { readonly name: string; readonly v2: Schema; readonly v3?: Schema }>>
> = {
  quantity: {
    name: "io.k8s.apimachinery.pkg.api.resource.Quantity",
    v2: {
      description:
        "An amount of a resource: a number and a suffix, binary (Ki, Mi, Gi …) or decimal (n, u, m, k, M, G …).",
      type: "string",
    },
    v3: {
      description:
        "An amount of a resource: a number and a suffix, binary (Ki, Mi, Gi …) or decimal (n, u, m, k, M, G …).",
      oneOf: [{ type: "string" }, { type: "number" }],
    },
  },
  intOrString: {
    name: "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    v2: {
      description: "A whole number, or text such as a percentage or a name.",
      format: "int-or-string",
      type: "string",
    },
    v3: {
      description: "A whole number, or text such as a percentage or a name.",
      format: "int-or-string",
      oneOf: [{ type: "integer" }, { type: "string" }],
    },
  },
  time: {
    name: "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    v2: { description: "A time in RFC 3339, to the second.", format: "date-time", type: "string" },
  },
  microTime: {
    name: "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
    v2: { description: "A time in RFC 3339, to the microsecond.", format: "date-time", type: "string" },
  },
  duration: {
    name: "io.k8s.apimachinery.pkg.apis.meta.v1.Duration",
    v2: { description: "A span of time such as 1h30m.", type: "string" },
  },
  rawExtension: {
    name: "io.k8s.apimachinery.pkg.runtime.RawExtension",
    v2: { description: "An object of any kind.", type: "object" },
  },
  json: {
    name: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    v2: { description: "Any JSON value." },
  },
  fieldsV1: {
    name: "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    v2: { description: "A set of field paths as a tree in JSON.", type: "object" },
  },
}

const PLAIN: Readonly<Partial<Record<Type["kind"], Schema>>> = {
  string: { type: "string" },
  bool: { type: "boolean" },
  int32: { format: "int32", type: "integer" },
  int64: { format: "int64", type: "integer" },
  double: { format: "double", type: "number" },
  bytes: { format: "byte", type: "string" },
}

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** The definitions that are made with each step. */
const DEFINITIONS_OF_STEP = 25

export class Definitions {
  readonly #found = new Map<string, Schema>()
  readonly #open: (() => void)[] = []
  readonly #version: 2 | 3

  constructor(version: 2 | 3) {
    this.#version = version
  }

  get #prefix(): string {
    return this.#version === 2 ? "#/definitions/" : "#/components/schemas/"
  }

  /**
   * Returns a reference to the definition of a message; `isObject` says whether its values have apiVersion and kind.
   */
  ref(message: Message, kinds: readonly GroupVersionKind[] = [], isObject = kinds.length > 0): Schema {
    this.#add(message.name, () => {
      const { selectableFields } = message.rules
      const schema = {
        ...this.#struct(message, isObject),
        ...(selectableFields === undefined
          ? {}
          : { "x-kubernetes-selectable-fields": selectableFields.map((fieldPath) => ({ fieldPath })) }),
      }
      const of = kinds.length === 0 && this.#version === 3 ? (markersOf(message.name).kinds ?? []) : kinds
      return of.length === 0 ? schema : { ...schema, "x-kubernetes-group-version-kind": of }
    })
    return { $ref: this.#prefix + message.name }
  }

  /** Returns a reference to the list of a kind. */
  listRef(schema: Message, { group, version, kind }: GroupVersionKind): Schema {
    const { selectableFields } = schema.rules
    const metadata = f.message(1, ListMeta, "Standard list metadata.")
    const list: Message = {
      name: `${schema.name}List`,
      doc: `A list of ${kind} objects.`,
      fields: {
        metadata: schema.rules.structural === undefined ? metadata.always() : metadata,
        items: f.listRecursive<unknown>(2, () => schema, "The objects.").required(),
      },
      rules: selectableFields === undefined ? {} : { selectableFields },
    }
    return this.ref(list, [{ group, version, kind: `${kind}List` }])
  }

  /** Returns a reference to a definition that is not a message. */
  plainRef(name: string, schema: Schema): Schema {
    this.#add(name, () => schema)
    return { $ref: this.#prefix + name }
  }

  /** Returns all definitions in the order of their names, in steps of some of them. */
  *finishing(): Steps<Readonly<Record<string, Schema>>> {
    // Breadth-first, since a message may refer to itself, and chains of references may be long.
    for (let made = 0; made < this.#open.length; made++) {
      this.#open[made]!()
      if (made % DEFINITIONS_OF_STEP === DEFINITIONS_OF_STEP - 1) yield
    }
    this.#open.length = 0
    return Object.fromEntries([...this.#found].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #add(name: string, make: () => Schema): void {
    if (this.#found.has(name)) return
    this.#found.set(name, {})
    this.#open.push(() => this.#found.set(name, make()))
  }

  #struct(message: Message, isKind: boolean): Schema {
    const { doc, fields, rules } = message
    if (rules.ownJson !== undefined) return { description: doc }
    if (rules.structural !== undefined)
      return customDefinition(
        rules.structural.schema,
        {
          apiVersion: KIND_PROPERTIES["apiVersion"]!,
          kind: KIND_PROPERTIES["kind"]!,
          metadata: this.#field(fields["metadata"]!.spec, false),
        },
        this.#version,
      )
    const properties: Record<string, Schema> = isKind ? { ...KIND_PROPERTIES } : {}
    const required: string[] = []
    const markers = markersOf(message.name)
    for (const name of Object.keys(fields).sort()) {
      const { spec } = fields[name]!
      properties[name] = this.#field(
        {
          ...spec,
          ...(markers.enums?.[name] === undefined ? {} : { enum: markers.enums[name] }),
          ...(markers.mapTypes?.[name] === undefined ? {} : { mapType: markers.mapTypes[name] }),
        },
        markers.defaults?.[name],
        markers.undescribed?.includes(name) === true,
      )
      // As upstream: a field is required when Go's encoder always writes it, which says little about what a client must
      // send.
      if (markers.required?.[name] ?? (spec.presence === "required" || spec.printZero === true)) required.push(name)
    }
    return {
      description: doc,
      ...(Object.keys(properties).length === 0 ? {} : { properties }),
      ...(required.length === 0 ? {} : { required }),
      type: "object",
      ...(rules.mapType === undefined ? {} : { "x-kubernetes-map-type": rules.mapType }),
      ...(rules.preserveUnknownFields === true ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
      ...(rules.unions === undefined
        ? {}
        : {
            "x-kubernetes-unions": rules.unions.map(({ discriminator, fields: members }) => ({
              ...(discriminator === undefined ? {} : { discriminator }),
              "fields-to-discriminateBy": Object.fromEntries(
                members.map((member) => [member, member[0]!.toUpperCase() + member.slice(1)]),
              ),
            })),
          }),
    }
  }

  #field(spec: FieldSpec, shown?: boolean | { readonly value: unknown }, isUndescribed = false): Schema {
    const listed = withEnum(this.#type(spec.type), spec.enum)
    const extensions = {
      ...(spec.listMapKeys === undefined ? {} : { "x-kubernetes-list-map-keys": spec.listMapKeys }),
      ...(spec.listType === undefined ? {} : { "x-kubernetes-list-type": spec.listType }),
      ...(spec.mapType === undefined ? {} : { "x-kubernetes-map-type": spec.mapType }),
      ...(spec.patchMergeKey === undefined ? {} : { "x-kubernetes-patch-merge-key": spec.patchMergeKey }),
      ...(spec.patchStrategy === undefined ? {} : { "x-kubernetes-patch-strategy": spec.patchStrategy.join(",") }),
    }
    if (this.#version === 2) return { description: spec.doc, ...listed, ...extensions }
    const fallback = typeof shown === "object" ? shown.value : defaultOf(spec, shown)
    // In v3 other keywords beside `$ref` are ignored, so the reference is wrapped in `allOf`.
    const base = listed["$ref"] === undefined ? listed : { allOf: [listed] }
    if (isUndescribed && listed["$ref"] !== undefined) return listed
    return { description: spec.doc, ...base, ...(fallback === undefined ? {} : { default: fallback }), ...extensions }
  }

  #type(type: Type): Schema {
    switch (type.kind) {
      case "message":
        return this.ref(type.message())
      case "list":
        return { items: this.#type(type.of), type: "array" }
      case "map":
        return { additionalProperties: this.#type(type.of), type: "object" }
      default: {
        const special = SPECIAL[type.shownAs ?? type.kind]
        return special === undefined
          ? PLAIN[type.kind]!
          : this.plainRef(special.name, this.#version === 3 ? (special.v3 ?? special.v2) : special.v2)
      }
    }
  }
}

/**
 * Returns the default that v3 shows: the zero of a field that Go always writes, and a declared default if `shows` is
 * true.
 */
function defaultOf(spec: FieldSpec, shows: boolean | undefined): unknown {
  const { presence, default: declared, zeroIsDefault, pointer, printZero, type } = spec
  if (shows !== undefined) return shows ? declared : undefined
  if (zeroIsDefault === true) return ""
  if (pointer === true) return undefined
  const zero = zeroOf(type)
  const isThere =
    presence === "required" ||
    printZero === true ||
    (presence === "defaulted" && (type.kind === "message" || declared === zero))
  return isThere ? zero : undefined
}

/** Returns the zero of a type that Go holds by value; undefined for other types. */
const zeroOf = (type: Type): unknown => (type.kind === "message" ? {} : basicZeroOf(type))

/** Returns a schema with the values of an enum; for a list or a map they belong to its elements. */
function withEnum(type: Schema, values: readonly string[] | undefined): Schema {
  if (values === undefined || values.length === 0) return type
  const listed = { enum: values.toSorted() }
  if (type["type"] === "array") return { ...type, items: { ...(type["items"] as Schema), ...listed } }
  if (type["type"] === "object")
    return { ...type, additionalProperties: { ...(type["additionalProperties"] as Schema), ...listed } }
  return { ...type, ...listed }
}

const KIND_PROPERTIES: Readonly<Record<string, Schema>> = {
  // Upstream's conformance tests search for the first words.
  apiVersion: { description: "APIVersion defines the version of the schema that this object follows.", type: "string" },
  kind: { description: "Kind of this object, in CamelCase. Cannot be changed.", type: "string" },
}
