import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  invalidValue,
  invalidValues,
  notSupported,
  required,
} from "../../../apimachinery/validation/field-errors.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { labelSelectorFaults } from "../../../apimachinery/selectors/labelselector.ts"
import { LabelSelector } from "../../../apimachinery/meta.ts"
import {
  isDNS1035Label,
  isDNS1123Subdomain,
  isPathSegmentName,
  oneProblem,
} from "../../../apimachinery/validation/names.ts"
import { repeated } from "../../../apimachinery/validation/repeated.ts"
import { NamedRuleWithOperations, ruleFaults } from "./rules.ts"

/**
 * The requests that a policy matches, and its parameter objects. Source: k8s.io/api admissionregistration/v1/types.go,
 * validateMatchResources and validateParamKind in pkg/apis/admissionregistration/validation.
 */

export const MatchResources = message(
  "admissionregistration.v1.MatchResources",
  "Requests by what they are about.",
  {
    namespaceSelector: f.message(1, LabelSelector, "Labels of the namespaces of the objects.").default({}).pointer(),
    objectSelector: f
      .message(2, LabelSelector, "Labels of the objects, before or after the request.")
      .default({})
      .pointer(),
    resourceRules: f.list(3, NamedRuleWithOperations, "Requests that are meant.").atomic(),
    excludeResourceRules: f.list(4, NamedRuleWithOperations, "Requests that are not, even so.").atomic(),
    matchPolicy: f
      .string(7, "Exact, or Equivalent: the same objects in other versions are meant as well.")
      .default("Equivalent")
      .pointer(),
  },
  { mapType: "atomic" },
)
export interface MatchResources extends ObjectOf<typeof MatchResources> {}

export const ParamKind = message(
  "admissionregistration.v1.ParamKind",
  "The kind of the objects that hold a policy's parameters.",
  {
    apiVersion: f.string(1, "Group and version of the kind."),
    kind: f.string(2, "The kind."),
  },
  { mapType: "atomic" },
)
export interface ParamKind extends ObjectOf<typeof ParamKind> {}

export const ParamRef = message(
  "admissionregistration.v1.ParamRef",
  "The objects with the parameters.",
  {
    name: f.string(1, "Name of the object; excludes selector."),
    namespace: f.string(2, "Namespace of the objects; that of the request's object unless given."),
    selector: f.message(3, LabelSelector, "Labels of the objects; the policy holds for each of them."),
    parameterNotFoundAction: f.string(4, "What follows where there are no such objects: Allow or Deny.").pointer(),
  },
  { mapType: "atomic" },
)
export interface ParamRef extends ObjectOf<typeof ParamRef> {}

/** Returns the faults of the requests that a policy matches, at a path. */
export function matchFaults(path: string, match: MatchResources): readonly Cause[] {
  const { matchPolicy, namespaceSelector, objectSelector } = match
  const rules = (field: "resourceRules" | "excludeResourceRules") =>
    (match[field] ?? []).flatMap((rule, i) => namedRuleFaults(at(path, field, i), rule))
  return [
    ...(["Equivalent", "Exact"].includes(matchPolicy)
      ? []
      : [notSupported(at(path, "matchPolicy"), matchPolicy, ["Equivalent", "Exact"])]),
    ...labelSelectorFaults(at(path, "namespaceSelector"), namespaceSelector),
    ...labelSelectorFaults(at(path, "objectSelector"), objectSelector),
    ...rules("resourceRules"),
    ...rules("excludeResourceRules"),
  ]
}

function namedRuleFaults(path: string, rule: NamedRuleWithOperations): readonly Cause[] {
  const { resourceNames = [] } = rule
  const twins = repeated(resourceNames, (name) => name)
  return [
    ...resourceNames.flatMap((name, i) => [
      ...invalidValues(at(path, "resourceNames", i), name, isPathSegmentName(name)),
      ...(twins.has(i) ? [duplicate(at(path, "resourceNames", i), name)] : []),
    ]),
    ...ruleFaults(path, rule),
  ]
}

/** Returns the faults of the kind of parameters. */
export function paramKindFaults(path: string, { apiVersion = "", kind = "" }: ParamKind): readonly Cause[] {
  const lowered = kind.toLowerCase()
  const problem = kind === "" ? undefined : isDNS1035Label(lowered)
  return [
    ...apiVersionFaults(at(path, "apiVersion"), apiVersion),
    ...(kind === "" ? [required(at(path, "kind"))] : []),
    ...(problem === undefined
      ? []
      : [
          invalidValue(
            at(path, "kind"),
            kind,
            `may have mixed case, but should otherwise match: ${oneProblem(problem, ",")}`,
          ),
        ]),
  ]
}

function apiVersionFaults(path: string, apiVersion: string): readonly Cause[] {
  if (apiVersion === "") return [required(path)]
  const parts = apiVersion === "/" ? ["", ""] : apiVersion.split("/")
  if (parts.length > 2) return [invalidValue(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)]
  const [group, version] = parts.length === 1 ? ["", parts[0]!] : [parts[0]!, parts[1]!]
  const groupProblem = group === "" ? undefined : isDNS1123Subdomain(group)
  const versionProblem = version === "" ? "version must be specified" : isDNS1035Label(version)
  return [
    ...(groupProblem === undefined ? [] : [invalidValue(path, group, oneProblem(groupProblem, ","))]),
    ...(versionProblem === undefined
      ? []
      : [invalidValue(path, version === "" ? apiVersion : version, oneProblem(versionProblem, ","))]),
  ]
}
