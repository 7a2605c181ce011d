import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  forbiddenField,
  invalidValue,
  invalidValues,
  notSupported,
  required,
  within,
} from "../../../apimachinery/validation/field-errors.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { goForm } from "../../../apimachinery/go/go-form.ts"
import { isDNS1123Label, isDNS1123Subdomain } from "../../../apimachinery/validation/names.ts"
import { mandatorySchemaSpec } from "./bootstrap.ts"
import {
  FlowDistinguisherMethod,
  FlowSchemaSpec,
  type NonResourcePolicyRule,
  type PolicyRulesWithSubjects,
  type ResourcePolicyRule,
  type Subject,
} from "./flowschemaspec.ts"
import { pushAll } from "../../../lists/push-all.ts"

/** Source: pkg/apis/flowcontrol/validation/validation.go, for FlowSchemas. */

const HIGHEST_PRECEDENCE = 10_000
const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"]
const METHODS = ["ByNamespace", "ByUser"]
const KINDS = ["Group", "ServiceAccount", "User"] as const

/** The parts of a FlowSchema that its rules read. */
interface SchemaView {
  readonly metadata: ObjectMeta
  readonly spec: FlowSchemaSpec
}

export function flowSchemaFaults({ metadata: { name = "" }, spec }: SchemaView): readonly Cause[] {
  const causes: Cause[] = []
  within(causes, specFaults(name, spec), "spec")
  const fixed = mandatorySchemaSpec(name)
  if (fixed !== undefined && !deepEqual(spec, fixed))
    causes.push(invalidValue("spec", goForm(FlowSchemaSpec, spec), `spec of '${name}' must equal the fixed value`))
  return causes
}

function specFaults(name: string, spec: FlowSchemaSpec): readonly Cause[] {
  const { matchingPrecedence: precedence, distinguisherMethod: method, priorityLevelConfiguration: level } = spec
  const causes: Cause[] = []
  const refuse = (detail: string) => causes.push(invalidValue("matchingPrecedence", precedence, detail))
  if (precedence <= 0) refuse("must be a positive value")
  if (precedence > HIGHEST_PRECEDENCE) refuse(`must not be greater than ${HIGHEST_PRECEDENCE}`)
  if (precedence === 1 && name !== "exempt") refuse("only the schema named 'exempt' may have matchingPrecedence 1")
  if (method !== undefined && !METHODS.includes(method.type))
    causes.push(notSupported("distinguisherMethod.type", goForm(FlowDistinguisherMethod, method), METHODS))
  if (level.name === "") causes.push(required("priorityLevelConfiguration.name", "must reference a priority level"))
  else pushAll(causes, invalidValues("priorityLevelConfiguration.name", level.name, isDNS1123Subdomain(level.name)))
  for (const [i, rule] of (spec.rules ?? []).entries()) within(causes, ruleFaults(rule), "rules", i)
  return causes
}

function ruleFaults({
  subjects = [],
  resourceRules = [],
  nonResourceRules = [],
}: PolicyRulesWithSubjects): readonly Cause[] {
  const causes: Cause[] = []
  for (const [i, subject] of subjects.entries()) within(causes, subjectFaults(subject), "subjects", i)
  if (subjects.length === 0) causes.push(required("subjects", "subjects must contain at least one value"))
  if (resourceRules.length === 0 && nonResourceRules.length === 0)
    causes.push(required("", "at least one of resourceRules and nonResourceRules has to be non-empty"))
  for (const [i, rule] of resourceRules.entries()) within(causes, resourceFaults(rule), "resourceRules", i)
  for (const [i, rule] of nonResourceRules.entries()) within(causes, nonResourceFaults(rule), "nonResourceRules", i)
  return causes
}

function subjectFaults(subject: Subject): readonly Cause[] {
  const kind = KINDS.find((known) => known === subject.kind)
  if (kind === undefined) return [notSupported("kind", subject.kind, KINDS)]
  return [...ownFaults(kind, subject), ...OTHERS[kind].flatMap((other) => unwanted(subject, other))]
}

type SubjectKind = (typeof KINDS)[number]
/** For each kind of subject the fields that it may not have, in upstream's order. */
const OTHERS: Readonly<Record<SubjectKind, readonly SubjectKind[]>> = {
  ServiceAccount: ["User", "Group"],
  User: ["ServiceAccount", "Group"],
  Group: ["ServiceAccount", "User"],
}
const FIELDS = { Group: "group", ServiceAccount: "serviceAccount", User: "user" } as const

function ownFaults(kind: SubjectKind, subject: Subject): readonly Cause[] {
  const field = FIELDS[kind]
  const own = subject[field]
  if (own === undefined) return [required(field, `${field} is required when subject kind is '${kind}'`)]
  const path = at(field, "name")
  if (kind !== "ServiceAccount") return own.name === "" ? [required(path)] : []
  const { namespace = "" } = subject.serviceAccount ?? {}
  return [
    ...(own.name === ""
      ? [required(path)]
      : own.name === "*"
        ? []
        : invalidValues(path, own.name, isDNS1123Subdomain(own.name))),
    ...(namespace === ""
      ? [required(at(field, "namespace"), "must specify namespace for service account")]
      : invalidValues(at(field, "namespace"), namespace, isDNS1123Label(namespace))),
  ]
}

const unwanted = (subject: Subject, kind: SubjectKind): readonly Cause[] =>
  subject[FIELDS[kind]] === undefined
    ? []
    : [forbiddenField(FIELDS[kind], `${FIELDS[kind]} is forbidden when subject kind is not '${kind}'`)]

function verbFaults(verbs: readonly string[]): readonly Cause[] {
  if (verbs.length === 0) return [required("verbs", "verbs must contain at least one value")]
  if (verbs.includes("*")) return alone("verbs", verbs, "verbs")
  return verbs.every((verb) => VERBS.includes(verb)) ? [] : [notSupported("verbs", verbs, VERBS)]
}

const alone = (field: string, values: readonly string[], what: string): readonly Cause[] =>
  values.length > 1 && values.includes("*")
    ? [invalidValue(field, values, `if '*' is present, must not specify other ${what}`)]
    : []

function resourceFaults(rule: ResourcePolicyRule): readonly Cause[] {
  const { verbs = [], apiGroups = [], resources = [], clusterScope = false } = rule
  const namespaces = rule.namespaces ?? []
  return [
    ...verbFaults(verbs),
    ...(apiGroups.length === 0
      ? [required("apiGroups", "resource rules must supply at least one api group")]
      : alone("apiGroups", apiGroups, "api groups")),
    ...(resources.length === 0
      ? [required("resources", "resource rules must supply at least one resource")]
      : alone("resources", resources, "resources")),
    ...(namespaces.length === 0 && !clusterScope
      ? [required("namespaces", "resource rules that are not cluster scoped must supply at least one namespace")]
      : namespaces.includes("*")
        ? alone("namespaces", namespaces, "namespaces")
        : namespaces.flatMap((namespace, i) => namespaceFaults(at("namespaces", i), namespace))),
  ]
}

const NAMESPACE_RULE = "each member of this list must be '*' or a DNS-1123 label; "

const namespaceFaults = (path: string, namespace: string): readonly Cause[] =>
  [isDNS1123Label(namespace) ?? []].flat().map((problem) => invalidValue(path, namespace, NAMESPACE_RULE + problem))

function nonResourceFaults({ verbs = [], nonResourceURLs: urls = [] }: NonResourcePolicyRule): readonly Cause[] {
  return [
    ...verbFaults(verbs),
    ...(urls.length === 0
      ? [required("nonResourceURLs", "nonResourceURLs must contain at least one value")]
      : urls.includes("*")
        ? alone("nonResourceURLs", urls, "non-resource URLs")
        : urls.flatMap((url, i) => invalidValues(at("nonResourceURLs", i), url, urlFault(url)))),
  ]
}

function urlFault(url: string): string | undefined {
  if (url === "") return "must not be empty"
  if (url === "/") return undefined
  if (!url.startsWith("/")) return "must start with slash"
  if (url.includes(" ")) return "must not contain white-space"
  if (url.includes("//")) return "must not contain double slash"
  const stars = url.split("*").length - 1
  return stars > 1 || (stars === 1 && !url.endsWith("/*")) ? "wildcard can only do suffix matching" : undefined
}
