import type { KubeObject } from "../../../../apimachinery/resource.ts"
import { isAddress, otherAddress } from "./addresses.ts"
import { Pseudonyms } from "./pseudonyms.ts"

type Fields = Readonly<Record<string, unknown>>

/** Fields whose texts are replaced as a whole: people and programs write into them whatever they like. */
const TEXTS: ReadonlySet<string> = new Set([
  "message",
  "value",
  "args",
  "command",
  "description",
  "caBundle",
  "ca.crt",
  "note",
  "expression",
  "messageExpression",
])
/** Maps from names to texts. */
const TEXT_MAPS: ReadonlySet<string> = new Set(["data", "binaryData", "stringData"])
/** Maps whose keys are names too. */
const NAME_MAPS: ReadonlySet<string> = new Set([
  "labels",
  "matchLabels",
  "nodeSelector",
  "selector",
  "limits",
  "requests",
  "capacity",
  "allocatable",
  "hard",
  "used",
  "parameters",
  "attributes",
  "volumeAttributes",
  "namespaceSelector",
])
/** Fields with words of an API. */
const WORDS: ReadonlySet<string> = new Set(["apiVersion", "kind", "uid", "resourceVersion", "apiGroup"])
/** Fields with a word of a few, which also custom kinds have. */
const STATES: ReadonlySet<string> = new Set(["type", "status", "reason", "phase", "kind", "operator", "effect"])
/** Fields with names that people choose, which may look like a word of a few: Engineering. */
const NAMES: ReadonlySet<string> = new Set([
  "name",
  "key",
  // Labels are in maps, and have been replaced; the values of selectors are compared with them.
  "values",
  "topologyKey",
  "matchLabelKeys",
  "mismatchLabelKeys",
  "labelKeys",
  "resourceNames",
  "user",
  "username",
  "users",
  "groups",
])
/** Parts of the schemas of custom kinds that tell of values, which are others now, or of pages about them. */
const OF_SCHEMAS: ReadonlySet<string> = new Set([
  "pattern",
  "default",
  "enum",
  "example",
  "externalDocs",
  "x-kubernetes-validations",
])
/** Fields of definitions with texts, beside those that other kinds have too. */
const TEXTS_OF_DEFINITIONS: ReadonlySet<string> = new Set(["title", "deprecationWarning"])
/** The annotations of Kubernetes in which people write. */
const SAID: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  "kubernetes.io/change-cause",
  "kubernetes.io/description",
])

/** What is the same in every cluster: numbers, amounts, times, UIDs. */
const PLAIN =
  /^(?:-?\d+(?:\.\d+)?(?:[numkKMGTPE]i?|%|ms|[smhd])?|\d{4}-\d{2}-\d{2}T[\d:.]+Z|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|true|false|\*|)$/
/** The form of a UID, which a key of some service may have too. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** A label or a container within the path of a field: `metadata.labels['team']`, `spec.containers{web}`. */
const NAME_IN_PATH = /(?<=\[')[^']+(?='\])|(?<=\{)[^{}]+(?=\})/g
/** An address within a name: `10.0.0.1:6443`, `ip-10-0-0-1.internal`. */
const ADDRESS = /(?<![\w.])(\d{1,3}(?:\.\d{1,3}){3}|(?<=ip-)\d{1,3}(?:-\d{1,3}){3})(?![\w])/
/** A name in a domain of Kubernetes: of a label, a finalizer, a signer. */
const OF_KUBERNETES = /^(?:[-a-z0-9.]+\.)?(?:kubernetes|k8s)\.io\/[-A-Za-z0-9_.]+$/
/** A word of a few, as kinds of Kubernetes have them: RollingUpdate. */
const CHOICE = /^[A-Z][A-Za-z]*$/

/** Replaces what tells of one's own cluster in objects and names, the same by the same. */
export class Anonymiser {
  readonly #pseudonyms: Pseudonyms

  /** `kept` are words that stay. */
  constructor(key: Uint8Array, kept: ReadonlySet<string>) {
    this.#pseudonyms = new Pseudonyms(key, kept)
  }

  /** Replaces the words of a name, of a user, a namespace or a field manager, and the addresses in it. */
  name(text: string): string {
    if (OF_KUBERNETES.test(text)) return text
    const other = (address: string, sign = ".") =>
      otherAddress(address.replaceAll(sign, "."), this.#pseudonyms).replaceAll(".", sign)
    const parts = text.split(ADDRESS)
    return parts
      .map((part, i) => (i % 2 === 0 ? this.#pseudonyms.name(part) : other(part, part.includes("-") ? "-" : ".")))
      .join("")
  }

  object(object: KubeObject): KubeObject {
    const { apiVersion, kind } = object
    const isOwn = !/^(?:v1$|apps\/|batch\/|autoscaling\/|policy\/|[a-z.]+\.k8s\.io\/)/.test(apiVersion)
    const made =
      kind === "CustomResourceDefinition"
        ? this.#definition(object as unknown as Definition)
        : this.#map(object as unknown as Fields, { isOwn, isDefinition: false })
    return { ...made, apiVersion, kind } as unknown as KubeObject
  }

  /** Names of a custom kind, its versions and its fields stay: controllers must find them. */
  #definition({ spec, status, ...others }: Definition): Fields {
    const { conversion, ...rest } = spec ?? {}
    const of = { isOwn: false, isDefinition: true }
    const plain = this.#map({ ...others, conversion }, { isOwn: false, isDefinition: false })
    return {
      ...plain,
      spec: { ...this.#map(rest, of), conversion: plain["conversion"] },
      conversion: undefined,
      ...(status === undefined ? {} : { status: this.#map(status, of) }),
    }
  }

  #map(fields: Fields, of: Of): Fields {
    return Object.fromEntries(
      Object.entries(fields).flatMap(([name, value]) => {
        if (name === "managedFields") return []
        if (name === "annotations" && typeof value === "object") return this.#annotations((value ?? {}) as Fields)
        if (of.isDefinition && OF_SCHEMAS.has(name)) return []
        return [[name, this.#field(name, value, of)] as const]
      }),
    )
  }

  /** Controllers read the annotations of Kubernetes; all others are left out. */
  #annotations(annotations: Fields): readonly (readonly [string, unknown])[] {
    const kept = Object.entries(annotations).filter(([name]) => OF_KUBERNETES.test(name) && !SAID.has(name))
    if (kept.length === 0) return []
    const value = (text: unknown) => (PLAIN.test(String(text)) ? text : this.name(String(text)))
    return [["annotations", Object.fromEntries(kept.map(([name, text]) => [name, value(text)]))]]
  }

  #field(name: string, value: unknown, of: Of): unknown {
    if (typeof value === "string") return this.#leaf(name, value, of)
    if (Array.isArray(value)) return value.map((item) => this.#field(name, item, of))
    if (typeof value !== "object" || value === null) return value
    const fields = value as Fields
    if (of.isDefinition) return this.#map(fields, of)
    const isTexts = Object.values(fields).every((each) => typeof each === "string")
    if (TEXT_MAPS.has(name) && isTexts) return this.#names(fields, (text) => this.#secret(name, text))
    if (NAME_MAPS.has(name) && isTexts)
      return this.#names(fields, (text) => (PLAIN.test(text) ? text : this.name(text)))
    return this.#map(fields, of)
  }

  #names(fields: Fields, value: (text: string) => string): Fields {
    return Object.fromEntries(Object.entries(fields).map(([key, text]) => [this.name(key), value(text as string)]))
  }

  /** The value of a Secret or ConfigMap. Those that are base64 stay that. */
  #secret(map: string, text: string): string {
    const made = this.#pseudonyms.text(text)
    return map === "binaryData" || (map === "data" && /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0)
      ? Buffer.from(made).toString("base64")
      : made
  }

  #leaf(name: string, text: string, { isOwn, isDefinition }: Of): string {
    if (isDefinition) return TEXTS.has(name) || TEXTS_OF_DEFINITIONS.has(name) ? this.#pseudonyms.text(text) : text
    if (TEXTS.has(name) && UUID.test(text)) return this.#pseudonyms.text(text)
    if (WORDS.has(name) || PLAIN.test(text)) return text
    if (name === "fieldPath") return text.replaceAll(NAME_IN_PATH, (part) => this.name(part))
    if (isAddress(text)) return otherAddress(text, this.#pseudonyms)
    if (TEXTS.has(name)) return this.#pseudonyms.text(text)
    const isChoice = CHOICE.test(text) && !NAMES.has(name) && (!isOwn || STATES.has(name))
    return isChoice ? text : this.name(text)
  }
}

type Definition = Fields & { readonly spec?: Fields; readonly status?: Fields }

/** What an object is of: a kind of one's own, or a definition of such a kind. */
interface Of {
  readonly isOwn: boolean
  readonly isDefinition: boolean
}
