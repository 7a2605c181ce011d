/** References from Gateway API objects to each other and to other kinds. */
import { s, type Field } from "../operator/custom-resource/fields.ts"
import { group, headerName, kind, namespace, objectName, portNumber, sectionName } from "./names.ts"

export const localReference = s.object({ group: group, kind: kind, name: objectName })

export const caReference = s.object({ group: group, kind: kind, name: objectName, namespace: namespace.optional() })

export const secretReference = s.object({
  group: group.default(""),
  kind: kind.default("Secret"),
  name: objectName,
  namespace: namespace.optional(),
})

export const parentReference = s.object({
  group: group.default("gateway.networking.k8s.io"),
  kind: kind.default("Gateway"),
  name: objectName,
  namespace: namespace.optional(),
  port: portNumber.optional(),
  sectionName: sectionName.optional(),
})

const SAME_PARENT =
  "p1.group == p2.group && p1.kind == p2.kind && p1.name == p2.name && " +
  "(((!has(p1.__namespace__) || p1.__namespace__ == '') && (!has(p2.__namespace__) || p2.__namespace__ == '')) || " +
  "(has(p1.__namespace__) && has(p2.__namespace__) && p1.__namespace__ == p2.__namespace__ ))"

export const parentReferences = s
  .list(parentReference, { maxItems: 32 })
  .rule(
    `self.all(p1, self.all(p2, ${SAME_PARENT} ? ((!has(p1.sectionName) || p1.sectionName == '') == (!has(p2.sectionName) || p2.sectionName == '')) : true))`,
    "sectionName must be specified when parentRefs includes 2 or more references to the same parent",
  )
  .rule(
    `self.all(p1, self.exists_one(p2, ${SAME_PARENT} && (((!has(p1.sectionName) || p1.sectionName == '') && (!has(p2.sectionName) || p2.sectionName == '')) || (has(p1.sectionName) && has(p2.sectionName) && p1.sectionName == p2.sectionName))))`,
    "sectionName must be unique when parentRefs includes 2 or more references to the same parent",
  )

const backendFields = {
  group: group.default(""),
  kind: kind.default("Service"),
  name: objectName,
  namespace: namespace.optional(),
  port: portNumber.optional(),
}
const NEEDS_PORT = [
  "(size(self.group) == 0 && self.kind == 'Service') ? has(self.port) : true",
  "Must have port for Service reference",
] as const

export const mirrorBackend = s.object(backendFields).rule(...NEEDS_PORT)

const weight = s.integer({ minimum: 0, maximum: 1000000, format: "int32" })
const weightedFields = { ...backendFields, weight: weight.default(1) }

export const weightedBackend = s.object(weightedFields).rule(...NEEDS_PORT)

/** A backend reference with filters: each kind of route has its own set of filters. */
export const filteringBackend = <Out, In>(filters: Field<Out, In>) =>
  s.object({ ...weightedFields, filters: filters.optional() }).rule(...NEEDS_PORT)

export const headerMatches = s.list(
  s.object({
    name: headerName,
    type: s.oneOf("Exact", "RegularExpression").default("Exact"),
    value: s.string({ minLength: 1, maxLength: 4096 }),
  }),
  { maxItems: 16, keys: ["name"] },
)

/**
 * Returns the CEL rule that limits the matches of all rules of a route; `count(i)` is the number of matches of rule i.
 */
export const matchCount = (count: (i: number) => string): string =>
  `${Array.from({ length: 16 }, (_, i) => `(self.size() > ${i} ? ${count(i)} : 0)`).join(" + ")} <= 128`
export const TOO_MANY_MATCHES =
  "While 16 rules and 64 matches per rule are allowed, the total number of matches across all rules in a route must " +
  "be less than 128"
