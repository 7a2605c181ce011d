import { checkTypes, VariableTypes } from "../../../pkg/api/admissionregistration/v1/expressions.ts"
import type { NamedRuleWithOperations } from "../../../pkg/api/admissionregistration/v1/rules.ts"
import type { ValidatingAdmissionPolicy } from "../../../pkg/api/admissionregistration/v1/validatingadmissionpolicy.ts"
import { resolvedSchema } from "../../../pkg/apimachinery/openapi/resolved-schema.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { typeOfSchema, type Schema } from "../../../pkg/cel/schema-type.ts"
import { DYN, type CelType } from "../../../pkg/cel/type.ts"

/** The kinds that are served. */
export interface Kinds {
  readonly resources: () => readonly Resource[]
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined
}

export interface ExpressionWarning {
  readonly fieldRef: string
  readonly warning: string
}

/** The most types that are checked for one policy. Source: policy/validating/typechecking.go maxTypesToCheck. */
const MOST_TYPES = 10

/**
 * Returns warnings about the validations of a policy and their messageExpressions, checked with the types of the
 * objects that the policy matches; a policy that matches all kinds of a group has no types for a check. Source:
 * policy/validating/typechecking.go.
 */
export function typeWarnings(policy: ValidatingAdmissionPolicy, kinds: Kinds): readonly ExpressionWarning[] {
  const { validations = [], paramKind, variables = [], matchConstraints } = policy.spec
  const types = resourcesOf(matchConstraints?.resourceRules ?? [], kinds.resources()).flatMap((resource) => {
    const type = typeOf(resource)
    return type === undefined ? [] : [{ resource, type }]
  })
  const paramResource = paramKind && kinds.resourceOf(paramKind.apiVersion ?? "", paramKind.kind ?? "")
  const params = paramKind === undefined ? undefined : ((paramResource && typeOf(paramResource)) ?? DYN)

  const check = (expression: string): string =>
    types
      .flatMap(({ resource, type }) => {
        const known = { object: type, params, variables: new VariableTypes() }
        for (const variable of variables) {
          const found = checkTypes(variable.expression, known)
          known.variables.add(variable.name, typeof found === "string" ? DYN : found)
        }
        const fault = checkTypes(expression, known)
        const { group, version, kind } = resource
        return typeof fault === "string" ? [`${group}/${version}, Kind=${kind}: ${fault}\n`] : []
      })
      .join("\n")
  return validations.flatMap(({ expression, messageExpression = "" }, i) =>
    [
      { fieldRef: `spec.validations[${i}].expression`, warning: check(expression) },
      ...(messageExpression === ""
        ? []
        : [{ fieldRef: `spec.validations[${i}].messageExpression`, warning: check(messageExpression) }]),
    ].filter(({ warning }) => warning !== ""),
  )
}

/** Returns the kinds that rules name, ordered by group, version and kind. Rules with `*` name none. */
function resourcesOf(rules: readonly NamedRuleWithOperations[], served: readonly Resource[]): readonly Resource[] {
  const found = new Set<Resource>()
  for (const { apiGroups = [], apiVersions = [], resources = [] } of rules) {
    if ([...apiGroups, ...apiVersions].some((name) => name.includes("*"))) continue
    let count = 0
    for (const group of apiGroups.toSorted())
      for (const version of apiVersions.toSorted())
        for (const plural of resources.filter((name) => !/[*/]/.test(name)).sort())
          for (const resource of named(served, { group, version, plural }))
            if (count++ < MOST_TYPES) found.add(resource)
  }
  return [...found].sort(
    (a, b) => compare(a.group, b.group) || compare(a.version, b.version) || compare(a.kind, b.kind),
  )
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/**
 * Without a group, kinds of every group match. Source: apimachinery pkg/api/meta/restmapper.go
 * DefaultRESTMapper.ResourcesFor.
 */
const named = (
  served: readonly Resource[],
  { group, version, plural }: { readonly group: string; readonly version: string; readonly plural: string },
): readonly Resource[] =>
  served.filter(
    (resource) =>
      (group === "" || resource.group === group) && resource.version === version && resource.plural === plural,
  )

const typeOf = (resource: Resource): CelType | undefined =>
  typeOfSchema(resolvedSchema(resource) as Schema, true, resource.kind)
