/** The policy of `--audit-policy-file`: which requests are audited, and how much of them. */
import type { ConfigurationKind } from "../../../pkg/config-file/config-file.ts"
import { readConfiguration, refusal } from "../../../pkg/config-file/config-file.ts"
import { readFileSync } from "node:fs"
import type { Cause } from "../../../pkg/apimachinery/errors.ts"
import { e, f, message, type ObjectOf } from "../../../pkg/apimachinery/fields.ts"
import { ObjectMeta } from "../../../pkg/apimachinery/meta.ts"
import { invalidValue, notSupported, required } from "../../../pkg/apimachinery/validation/field-errors.ts"
import { isDNS1123Subdomain, oneProblem } from "../../../pkg/apimachinery/validation/names.ts"
import { AUDIT_LEVELS, AUDIT_STAGES } from "../call/audit-notes.ts"

/** Source of the fields: apiserver pkg/apis/audit/v1/types.go. */
const GroupResources = message("audit.v1.GroupResources", "Resources of one API group.", {
  group: f.string(1, "The API group; empty for the core group, * for all."),
  resources: f.list(2, e.string, "Resources and subresources, such as pods, pods/log, pods/*, */scale or *."),
  resourceNames: f.list(3, e.string, "Names of the objects; all if empty."),
})

const PolicyRule = message("audit.v1.PolicyRule", "The level of the requests that match all of its fields.", {
  level: f.string(1, "How much of these requests is audited."),
  users: f.list(2, e.string, "Names of users."),
  userGroups: f.list(3, e.string, "Groups, of which the user must be in one."),
  verbs: f.list(4, e.string, "Verbs of requests."),
  resources: f.list(5, GroupResources, "Resources."),
  namespaces: f.list(6, e.string, "Namespaces; the empty text for resources without one."),
  nonResourceURLs: f.list(7, e.string, "Paths that are no resource; * at the end matches any rest."),
  omitStages: f.list(8, e.string, "Stages that have no event."),
  omitManagedFields: f.bool(9, "Whether objects in events lack their managedFields.").pointer(),
})
export interface PolicyRule extends ObjectOf<typeof PolicyRule> {}

const Policy = message("audit.v1.Policy", "Which requests are audited, and how much of them.", {
  metadata: f.message(1, ObjectMeta, "Standard object's metadata."),
  rules: f.list(2, PolicyRule, "The first rule that matches a request counts."),
  omitStages: f.list(3, e.string, "Stages that have no event."),
  omitManagedFields: f.bool(4, "Whether objects in events lack their managedFields."),
})
export interface AuditPolicy extends ObjectOf<typeof Policy> {}

/** Source of the rules: apiserver pkg/apis/audit/validation/validation.go. */
const AUDIT_POLICY: ConfigurationKind<typeof Policy> = {
  apiVersions: ["audit.k8s.io/v1"],
  kind: "Policy",
  schema: Policy,
  validate: ({ rules = [], omitStages }) => [
    ...stageCauses(omitStages, "omitStages"),
    ...rules.flatMap((rule, i) => ruleCauses(rule, `rules[${i}]`)),
  ],
}

/**
 * Reads the policy. Differs from upstream: a field that is not known is refused, which upstream only logs, since a
 * misspelled field makes a rule match more than it should.
 * @throws ConfigurationError
 */
export function readAuditPolicy(file: string): AuditPolicy {
  const { value } = readConfiguration(file, [AUDIT_POLICY])
  if ((value.rules ?? []).length > 0) return value
  throw refusal(readFileSync(file, "utf8"), file, [
    required("rules", "loaded illegal policy with 0 rules: add one, such as `- level: Metadata`"),
  ])
}

function ruleCauses(rule: PolicyRule, path: string): Cause[] {
  const { level = "", nonResourceURLs = [], resources = [], namespaces = [], omitStages } = rule
  return [
    ...(level === ""
      ? [required(`${path}.level`, "")]
      : (AUDIT_LEVELS as readonly string[]).includes(level)
        ? []
        : [notSupported(`${path}.level`, level, AUDIT_LEVELS)]),
    ...nonResourceURLs.flatMap((url, i) => urlCauses(url, `${path}.nonResourceURLs[${i}]`)),
    ...resources.flatMap(({ group = "", resources: plurals = [], resourceNames = [] }, i) => [
      ...groupCauses(group, `${path}.resources[${i}].group`),
      ...(resourceNames.length > 0 && plurals.length === 0
        ? [
            invalidValue(
              `${path}.resources[${i}].resourceNames`,
              resourceNames,
              "using resourceNames requires at least one resource",
            ),
          ]
        : []),
    ]),
    ...stageCauses(omitStages, `${path}.omitStages`),
    ...(nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)
      ? [
          invalidValue(
            `${path}.nonResourceURLs`,
            nonResourceURLs,
            "rules cannot apply to both regular resources and non-resource URLs",
          ),
        ]
      : []),
  ]
}

const stageCauses = (stages: readonly string[] = [], path: string): Cause[] =>
  stages.flatMap((stage, i) =>
    (AUDIT_STAGES as readonly string[]).includes(stage)
      ? []
      : [invalidValue(`${path}[${i}]`, stage, `allowed stages are ${AUDIT_STAGES.join(",")}`)],
  )

function urlCauses(url: string, path: string): Cause[] {
  if (url === "*") return []
  return [
    ...(url.startsWith("/") ? [] : [invalidValue(path, url, "non-resource URL rules must begin with a '/' character")]),
    ...(url.slice(0, -1).includes("*")
      ? [invalidValue(path, url, "non-resource URL wildcards '*' must be the final character of the rule")]
      : []),
  ]
}

function groupCauses(group: string, path: string): Cause[] {
  const problem = group === "" || group === "*" ? undefined : isDNS1123Subdomain(group)
  return problem === undefined ? [] : [invalidValue(path, group, oneProblem(problem, ","))]
}
