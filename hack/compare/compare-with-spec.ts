/**
 * Compares the declared kinds with the facts on Kubernetes in ../shared/spec, where these are at hand: fields, types,
 * required-ness, protobuf numbers, list types and keys, patch strategies, verbs, short names, categories, scope and
 * subresources.
 *
 *     bun hack/compare/compare-with-spec.ts [part of a message's or kind's name]
 *
 * Prints a line for each difference and exits 1 when there is any; kinds that are not served are only named; exits 0
 * with a line when the facts are not there.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { OPTIONAL_RESOURCES } from "../../pkg/api/optional-resources.ts"
import { RESOURCES, SUBRESOURCE_KINDS } from "../../pkg/api/resources.ts"
import { storageVersionHash } from "../../pkg/api/scheme.ts"
import type { FieldSpec, Type, Message } from "../../pkg/apimachinery/field-spec.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"

const SPEC = join(import.meta.dirname, "../../../shared/spec")
const NAMES = {
  swagger: "swagger-1.36.json",
  proto: "proto-fields-0.36.json",
  keys: "patch-and-list-keys-1.36.json",
  resources: "api-resources.md",
}

interface Property {
  readonly type?: string
  readonly format?: string
  readonly $ref?: string
  readonly items?: Property
  readonly additionalProperties?: Property
}
interface Definition {
  readonly properties?: Readonly<Record<string, Property>>
  readonly required?: readonly string[]
}
type Keys = Readonly<Record<string, unknown>>
interface Facts {
  readonly definitions: Readonly<Record<string, Definition>>
  readonly proto: Readonly<Record<string, Readonly<Record<string, readonly [number, string]>>>>
  readonly keys: Readonly<Record<string, Readonly<Record<string, Keys>>>>
  readonly rows: readonly Row[]
}
interface Row {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly scope: "Namespaced" | "Cluster"
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly string[]
  /** Name → sorted verbs. */
  readonly subresources: Readonly<Record<string, string>>
  readonly hash: string
}

function readFacts(): Facts {
  const json = (name: string): unknown => JSON.parse(readFileSync(join(SPEC, name), "utf8"))
  return {
    definitions: (json(NAMES.swagger) as { definitions: Facts["definitions"] }).definitions,
    proto: json(NAMES.proto) as Facts["proto"],
    keys: json(NAMES.keys) as Facts["keys"],
    rows: readRows(readFileSync(join(SPEC, NAMES.resources), "utf8")),
  }
}

/** The tables of the page of resources: a heading per group-version, a row per kind. */
function readRows(page: string): readonly Row[] {
  const rows: Row[] = []
  let [group, version, done] = ["", "", false]
  for (const line of page.split("\n")) {
    const heading = /^(##|###) (\S+)/.exec(line)
    if (line.startsWith("## Off by default")) done = true
    if (heading?.[2] === "core") [group, version] = ["", "v1"]
    else if (heading?.[1] === "###") [group, version] = heading[2]!.split("/") as [string, string]
    const cells = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim())
    if (done || cells.length < 7 || cells[0] === "Kind" || cells[0]!.startsWith("-") || cells[7] === "1.37") continue
    rows.push(rowOf(cells, group, version))
  }
  return rows
}

const EVERY_VERB = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
const list = (cell: string): readonly string[] =>
  cell
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "")
    .sort()

function rowOf(cells: readonly string[], group: string, version: string): Row {
  const [kind, plural, scope, short, categories, verbs, subresources] = cells as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  return {
    group,
    version,
    kind,
    plural,
    scope: scope === "N" ? "Namespaced" : "Cluster",
    shortNames: list(short),
    categories: list(categories),
    hash: cells.at(-1)!,
    verbs: verbs === "*" ? EVERY_VERB : list(verbs.replace(/\(.*\)/, "")),
    // csinodes/status came with 1.37
    subresources:
      kind === "CSINode"
        ? {}
        : Object.fromEntries(
            subresources
              .split(";")
              .filter((part) => part.includes(":"))
              .map((part) => [
                part.trim().split(/[ :]/)[0]!,
                list(
                  part
                    .split(":")
                    .at(-1)!
                    .replace(/\(.*\)/, ""),
                ).join(","),
              ]),
          ),
  }
}

function compareMessages(): readonly string[] {
  const seen = new Map<string, Message>()
  const visit = (message: Message): void => {
    if (seen.has(message.name)) return
    seen.set(message.name, message)
    for (const { spec } of Object.values(message.fields)) visitType(spec.type)
  }
  const visitType = (type: Type): void => {
    if (type.kind === "message") visit(type.message())
    if (type.kind === "list" || type.kind === "map") visitType(type.of)
  }
  for (const resource of [...RESOURCES, ...OPTIONAL_RESOURCES, ...SUBRESOURCE_KINDS]) visit(resource.schema)
  return [...seen.values()].flatMap(compareMessage)
}

function compareMessage(message: Message): readonly string[] {
  const definition = facts.definitions[message.name]
  if (definition === undefined) return [`${message.name}: not in the specification`]
  const lines: string[] = []
  const properties = definition.properties ?? {}
  for (const name of Object.keys(properties))
    if (!(name in message.fields) && name !== "apiVersion" && name !== "kind")
      lines.push(`${message.name}.${name}: missing`)
  for (const [name, { spec }] of Object.entries(message.fields)) {
    const property = properties[name]
    const where = `${message.name}.${name}`
    if (property === undefined) {
      lines.push(`${where}: not in the specification`)
      continue
    }
    const [ours, theirs] = [typeText(spec.type), propertyText(property)]
    if (ours !== theirs && !(spec.type.kind === "json" && theirs.endsWith("JSON")))
      lines.push(`${where}: type ${ours}, should be ${theirs}`)
    const required = definition.required?.includes(name) === true
    if (required && spec.presence !== "required" && spec.printZero !== true && name !== "metadata")
      lines.push(`${where}: should be required (or print its zero)`)
    if (!required && spec.presence === "required") lines.push(`${where}: should not be required`)
    lines.push(...compareNumber(message, name, spec, where), ...compareKeys(message, name, spec, where))
  }
  const atomic = facts.keys[message.name]?.["."]?.["map-type"] === "atomic"
  if (atomic !== (message.rules.mapType === "atomic"))
    lines.push(`${message.name}: ${atomic ? "should be" : "should not be"} atomic`)
  return lines
}

const SCALAR_TEXT: Readonly<Record<string, string>> = {
  bool: "boolean",
  int32: "integer int32",
  int64: "integer int64",
  double: "number double",
  bytes: "string byte",
  quantity: "Quantity",
  time: "Time",
  microTime: "MicroTime",
  duration: "Duration",
  intOrString: "IntOrString",
  rawExtension: "RawExtension",
  fieldsV1: "FieldsV1",
  json: "JSON",
}

function typeText(type: Type): string {
  if (type.kind === "list") return `list of ${typeText(type.of)}`
  if (type.kind === "map") return `map of ${typeText(type.of)}`
  return type.kind === "message" ? lastPart(type.message().name) : (SCALAR_TEXT[type.kind] ?? type.kind)
}

function propertyText({ $ref, type, format, items, additionalProperties }: Property): string {
  if ($ref !== undefined) return lastPart($ref)
  if (items !== undefined) return `list of ${propertyText(items)}`
  if (additionalProperties !== undefined) return `map of ${propertyText(additionalProperties)}`
  return format === undefined ? (type ?? "JSON") : `${type} ${format}`
}

const lastPart = (name: string): string => name.slice(name.lastIndexOf(".") + 1)

/** Message names of the protobuf files differ from those of OpenAPI in their first part. */
const protoName = (name: string): string =>
  name
    .replace(/^io\.k8s\./, "k8s.io.")
    .replace("apiextensions-apiserver", "apiextensions_apiserver")
    .replace("kube-aggregator", "kube_aggregator")

function compareNumber(message: Message, name: string, spec: FieldSpec, where: string): readonly string[] {
  const own = facts.proto[protoName(message.name)]
  if (own === undefined) return []
  let fields = own
  for (const step of spec.embeddedIn ?? []) {
    const outer: readonly [number, string] | undefined = Object.values(fields).find(([number]) => number === step)
    const inner: typeof fields | undefined =
      outer === undefined
        ? undefined
        : facts.proto[`${protoName(message.name).replace(/[^.]+$/, "")}${lastPart(outer[1])}`]
    if (inner === undefined) return [`${where}: no message is embedded under number ${step}`]
    fields = inner
  }
  const found = Object.entries(fields).find(
    ([other]) => other.toLowerCase() === name.toLowerCase().replace(/^\$/, ""),
  )?.[1]
  if (found === undefined)
    return [`${where}: not in the protobuf files${spec.embeddedIn === undefined ? "; embedded?" : ""}`]
  return found[0] === spec.number ? [] : [`${where}: protobuf number ${spec.number}, should be ${found[0]}`]
}

function compareKeys(message: Message, name: string, spec: FieldSpec, where: string): readonly string[] {
  const keys = facts.keys[message.name]?.[name] ?? {}
  const lines: string[] = []
  const compare = (what: string, ours: string, theirs: string) => {
    if (ours !== theirs) lines.push(`${where}: ${what} "${ours}", should be "${theirs}"`)
  }
  compare("list type", spec.listType ?? "", String(keys["list-type"] ?? ""))
  compare(
    "list map keys",
    [...(spec.listMapKeys ?? [])].sort().join(","),
    [...((keys["list-map-keys"] as readonly string[] | undefined) ?? [])].sort().join(","),
  )
  compare("map type", spec.mapType ?? "granular", String(keys["map-type"] ?? "granular"))
  compare(
    "patch strategy",
    [...(spec.patchStrategy ?? [])].sort().join(","),
    String(keys["patch-strategy"] ?? "")
      .split(",")
      .sort()
      .join(","),
  )
  compare("patch merge key", spec.patchMergeKey ?? "", String(keys["patch-merge-key"] ?? ""))
  return lines
}

function compareResources(): readonly string[] {
  const lines: string[] = []
  const order = RESOURCES.map(({ group, version }) => `${group}/${version}`).filter(
    (name, i, all) => all.indexOf(name) === i,
  )
  const right = facts.rows
    .map(({ group, version }) => `${group}/${version}`)
    .filter((name, i, all) => all.indexOf(name) === i && order.includes(name))
  if (order.join() !== right.join()) lines.push(`order of groups: ${order.join(" ")}, should be ${right.join(" ")}`)
  for (const row of facts.rows) {
    const resource = RESOURCES.find(
      ({ group, version, plural }) => group === row.group && version === row.version && plural === row.plural,
    )
    if (resource !== undefined) lines.push(...compareResource(resource, row))
  }
  return lines
}

function compareResource(resource: Resource, row: Row): readonly string[] {
  const lines: string[] = []
  const compare = (what: string, ours: string, theirs: string) => {
    if (ours !== theirs)
      lines.push(`${row.group}/${row.version} ${row.kind}: ${what} ${ours || "none"}, should be ${theirs || "none"}`)
  }
  const { status, scale, other = {} } = resource.subresources ?? {}
  const subresources: Record<string, string> = {
    ...(status === undefined ? {} : { status: "get,patch,update" }),
    ...(scale === undefined ? {} : { scale: "get,patch,update" }),
    ...Object.fromEntries(Object.entries(other).map(([name, { verbs }]) => [name, [...verbs].sort().join(",")])),
  }
  const text = (parts: Readonly<Record<string, string>>) =>
    Object.entries(parts)
      .map(([name, verbs]) => `${name}: ${verbs}`)
      .sort()
      .join("; ")
  compare("kind", resource.kind, row.kind)
  compare("scope", resource.scope, row.scope)
  compare("verbs", [...resource.verbs].sort().join(","), [...row.verbs].sort().join(","))
  compare("short names", [...(resource.shortNames ?? [])].sort().join(","), row.shortNames.join(","))
  compare("categories", [...(resource.categories ?? [])].sort().join(","), row.categories.join(","))
  compare("subresources", text(subresources), text(row.subresources))
  if (resource.storedAs === undefined) compare("hash", storageVersionHash(resource) ?? "", row.hash)
  return lines
}

const absent = Object.values(NAMES).filter((name) => !existsSync(join(SPEC, name)))
if (absent.length > 0) {
  console.log(`Nothing compared: ${absent.join(", ")} not found beside the checkout.`)
  process.exit(0)
}
const facts = readFacts()
const wanted = process.argv[2] ?? ""
const differences = [...compareMessages(), ...compareResources()].filter((line) =>
  line.toLowerCase().includes(wanted.toLowerCase()),
)
for (const line of differences) console.log(line)
const left = facts.rows.filter(
  (row) =>
    !RESOURCES.some(
      ({ group, version, plural }) => group === row.group && version === row.version && plural === row.plural,
    ),
)
console.log(
  `Not served: ${left.map(({ group, version, kind }) => `${group}/${version} ${kind}`).join(", ") || "none"}.`,
)
console.log(`${RESOURCES.length} kinds compared, ${differences.length} differences.`)
process.exit(differences.length === 0 ? 0 : 1)
