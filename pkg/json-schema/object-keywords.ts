import { pushAll } from "../lists/push-all.ts"
import { isMap, type JsonMap } from "./drafts.ts"
import type { Application } from "./application.ts"
import { count, quote, type Fault } from "./faults.ts"
import { size } from "./scalar-keywords.ts"

const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : []
const list = (names: readonly string[]): string => names.map(quote).join(", ")

/** Returns what keywords about objects find wrong with one. */
export function objectFaults(application: Application, value: JsonMap): readonly Fault[] {
  const { schema, node, path, evaluation } = application
  const { version } = node.resource.draft
  const names = Object.keys(value)
  const faults: Fault[] = []
  const add = (text: string) => faults.push({ path, text, causes: [] })
  const push = (fault: Fault | undefined) => {
    if (fault !== undefined) faults.push(fault)
  }
  const missingOf = (wanted: unknown): readonly string[] => {
    const all = texts(wanted)
    evaluation.work.step(all.length)
    return all.filter((name) => !Object.hasOwn(value, name))
  }
  const present = (keyword: string): readonly (readonly [string, unknown])[] => {
    const map = schema[keyword]
    return isMap(map) ? Object.entries(map).filter(([name]) => Object.hasOwn(value, name)) : []
  }
  const requires = (name: string, wanted: unknown) => {
    const missing = missingOf(wanted)
    if (missing.length > 0) add(`properties ${list(missing)} required, if ${quote(name)} exists`)
  }
  const [least, most] = [size(schema["minProperties"]), size(schema["maxProperties"])]
  if (least !== undefined && names.length < least)
    add(`minProperties: got ${count(names.length)}, want ${count(least)}`)
  if (most !== undefined && names.length > most) add(`maxProperties: got ${count(names.length)}, want ${count(most)}`)
  const missing = missingOf(schema["required"])
  if (missing.length > 0) add(`missing ${missing.length === 1 ? "property" : "properties"} ${list(missing)}`)
  const dependent = (keyword: string, name: string, inner: unknown) => {
    push(evaluation.same(application, [keyword, name], node.document.nodeOf(inner, node, keyword, name), value))
  }
  for (const [name, wanted] of present("dependencies"))
    if (Array.isArray(wanted)) requires(name, wanted)
    else dependent("dependencies", name, wanted)
  pushAll(faults, propertyFaults(application, value))
  if (version >= 6 && "propertyNames" in schema) for (const name of names) push(nameFault(application, name))
  if (version >= 2019) {
    for (const [name, inner] of present("dependentSchemas")) dependent("dependentSchemas", name, inner)
    for (const [name, wanted] of present("dependentRequired")) if (Array.isArray(wanted)) requires(name, wanted)
  }
  return faults
}

function propertyFaults(application: Application, value: JsonMap): readonly Fault[] {
  const { schema, path, seen, evaluation } = application
  const { properties, patternProperties, additionalProperties: additional } = schema
  const patterns = isMap(patternProperties) ? Object.entries(patternProperties) : []
  const faults: Fault[] = []
  const unknown: string[] = []
  for (const [name, item] of Object.entries(value)) {
    let isSeen = false
    const apply = (steps: readonly string[], inner: unknown) => {
      isSeen = true
      const fault = evaluation.below(application, steps, inner, item, name)
      if (fault !== undefined) faults.push(fault)
    }
    if (isMap(properties) && Object.hasOwn(properties, name)) apply(["properties", name], properties[name])
    for (const [source, inner] of patterns) {
      evaluation.work.read((name.length + 1) * source.length)
      if (evaluation.set.pattern(source).test(name)) apply(["patternProperties", source], inner)
    }
    if (!isSeen && additional === false) unknown.push(name)
    if (!isSeen && isMap(additional)) apply(["additionalProperties"], additional)
    if (isSeen || typeof additional === "boolean") seen?.properties.add(name)
  }
  if (unknown.length > 0) faults.push({ path, text: `additional properties ${list(unknown)} not allowed`, causes: [] })
  return faults
}

/** A name is judged as a value of its own. */
function nameFault({ schema, node, evaluation }: Application, name: string): Fault | undefined {
  const inner = node.document.nodeOf(schema["propertyNames"], node, "propertyNames")
  const fault = evaluation.start(inner, name)
  if (fault === undefined) return undefined
  return {
    path: undefined,
    text: `invalid propertyName ${quote(name)}`,
    causes: fault.kind === "group" ? fault.causes : [fault],
  }
}
