/**
 * The rules of plugins' arguments, with upstream's messages. Source: pkg/scheduler/apis/config/validation
 * validation_pluginargs.go.
 */
import { validateAffinity } from "../../../pkg/api/core/v1/pod/scheduling/scheduling-validation.ts"
import type { Cause } from "../../../pkg/apimachinery/errors.ts"
import { parseDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import { isQualifiedName } from "../../../pkg/apimachinery/validation/names.ts"
import {
  at,
  duplicate,
  forbiddenField,
  invalidValue,
  invalidValues,
  notSupported,
  required,
} from "../../../pkg/apimachinery/validation/field-errors.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"
import type {
  ArgsOfPlugins,
  DefaultPreemptionArgs,
  NodeResourcesFitArgs,
  PluginWithArgs,
  PodTopologySpreadArgs,
  ResourceSpec,
  UtilizationShapePoint,
} from "./plugin-args.ts"

const RULES: { readonly [P in PluginWithArgs]: (args: ArgsOfPlugins[P], path: string) => readonly Cause[] } = {
  DefaultPreemption: preemptionFaults,
  InterPodAffinity: ({ hardPodAffinityWeight: weight }, path) =>
    rangeFaults(weight, 100, at(path, "hardPodAffinityWeight"), "not in valid range [0, 100]"),
  NodeAffinity: ({ addedAffinity }, path) =>
    addedAffinity === undefined
      ? []
      : validateAffinity({ nodeAffinity: addedAffinity }).map((cause) => ({
          ...cause,
          field: at(path, (cause.field ?? "").replace(/^nodeAffinity/, "addedAffinity")),
        })),
  NodeResourcesFit: fitFaults,
  NodeResourcesBalancedAllocation: ({ resources = [] }, path) =>
    resources.flatMap(({ name, weight }, i) => [
      ...(resources.slice(0, i).some((other) => other.name === name)
        ? [duplicate(at(path, "resources", i, "name"), name)]
        : []),
      ...(weight === 1 ? [] : [invalidValue(at(path, "resources", i, "weight"), weight, "must be 1")]),
    ]),
  PodTopologySpread: spreadFaults,
  VolumeBinding: ({ bindTimeoutSeconds, shape }, path) => [
    ...(bindTimeoutSeconds < 0
      ? [
          invalidValue(
            at(path, "bindTimeoutSeconds"),
            bindTimeoutSeconds,
            "invalid BindTimeoutSeconds, should not be a negative value",
          ),
        ]
      : []),
    ...(shape === undefined
      ? []
      : [
          invalidValue(
            at(path, "shape"),
            shape,
            "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
          ),
        ]),
  ],
  DynamicResources: ({ filterTimeout, bindingTimeout }, path) => [
    ...((parseDuration(filterTimeout) ?? 0) < 0
      ? [invalidValue(at(path, "filterTimeout"), filterTimeout, "must be zero or positive")]
      : []),
    ...((parseDuration(bindingTimeout) ?? 0) < 1000
      ? [invalidValue(at(path, "bindingTimeout"), bindingTimeout, "must be at least 1 second")]
      : []),
  ],
}

/** Returns what is wrong in the arguments of a plugin, whose defaults are set. `path` is where they are. */
export const argsFaults = <P extends PluginWithArgs>(
  plugin: P,
  args: ArgsOfPlugins[P],
  path: string,
): readonly Cause[] => RULES[plugin](args, path)

const rangeFaults = (value: number, most: number, path: string, detail: string): readonly Cause[] =>
  value < 0 || value > most ? [invalidValue(path, value, detail)] : []

function preemptionFaults(args: DefaultPreemptionArgs, path: string): readonly Cause[] {
  const { minCandidateNodesPercentage: percentage, minCandidateNodesAbsolute: absolute } = args
  const [percentagePath, absolutePath] = [
    at(path, "minCandidateNodesPercentage"),
    at(path, "minCandidateNodesAbsolute"),
  ]
  return [
    ...rangeFaults(percentage, 100, percentagePath, "not in valid range [0, 100]"),
    ...rangeFaults(absolute, Infinity, absolutePath, "not in valid range [0, inf)"),
    ...(percentage === 0 && absolute === 0
      ? [
          invalidValue(percentagePath, 0, "cannot be zero at the same time as minCandidateNodesAbsolute"),
          invalidValue(absolutePath, 0, "cannot be zero at the same time as minCandidateNodesPercentage"),
        ]
      : []),
  ]
}

const STRATEGIES: readonly string[] = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]

function fitFaults(args: NodeResourcesFitArgs, path: string): readonly Cause[] {
  const { ignoredResources = [], ignoredResourceGroups = [], scoringStrategy: strategy } = args
  const names = (list: readonly string[], field: string) =>
    list.flatMap((name, i) => invalidValues(at(path, field, i), name, isQualifiedName(name)))
  const causes = [
    ...names(ignoredResources, "ignoredResources"),
    ...ignoredResourceGroups.flatMap((group, i) =>
      group.includes("/")
        ? [invalidValue(at(path, "ignoredResourceGroups", i), group, "resource group name can't contain '/'")]
        : [],
    ),
    ...names(ignoredResourceGroups, "ignoredResourceGroups"),
  ]
  const here = at(path, "scoringStrategy")
  if (strategy === undefined) return [...causes, required(here, "ScoringStrategy field is required")]
  const { type, resources = [], requestedToCapacityRatio: ratio } = strategy
  if (!STRATEGIES.includes(type)) causes.push(notSupported(at(here, "type"), type, STRATEGIES))
  pushAll(causes, resourceFaults(resources, at(here, "resources")))
  const ratioPath = at(here, "requestedToCapacityRatio")
  if (type !== "RequestedToCapacityRatio")
    return ratio === undefined
      ? causes
      : [...causes, forbiddenField(ratioPath, "must be nil when type is not RequestedToCapacityRatio")]
  return ratio === undefined
    ? [...causes, required(ratioPath, "must be specified when type is RequestedToCapacityRatio")]
    : [...causes, ...shapeFaults(ratio.shape ?? [], at(ratioPath, "shape"))]
}

const resourceFaults = (resources: readonly ResourceSpec[], path: string): readonly Cause[] =>
  resources.flatMap(({ name, weight }, i) =>
    weight > 0 && weight <= 100
      ? []
      : [invalidValue(at(path, i, "weight"), weight, `resource weight of ${name} not in valid range (0, 100]`)],
  )

function shapeFaults(shape: readonly UtilizationShapePoint[], path: string): readonly Cause[] {
  if (shape.length === 0) return [required(path, "at least one point must be specified")]
  const unsorted = shape.findIndex((point, i) => i > 0 && shape[i - 1]!.utilization >= point.utilization)
  return [
    ...(unsorted < 0
      ? []
      : [
          invalidValue(
            at(path, unsorted, "utilization"),
            shape[unsorted]!.utilization,
            "values must be sorted in increasing order",
          ),
        ]),
    ...shape.flatMap(({ utilization, score }, i) => [
      ...rangeFaults(utilization, 100, at(path, i, "utilization"), "not in valid range [0, 100]"),
      ...rangeFaults(score, 10, at(path, i, "score"), "not in valid range [0, 10]"),
    ]),
  ]
}

const ACTIONS: readonly string[] = ["DoNotSchedule", "ScheduleAnyway"]

function spreadFaults({ defaultConstraints = [], defaultingType }: PodTopologySpreadArgs, path: string) {
  const typePath = at(path, "defaultingType")
  const causes: Cause[] = []
  if (defaultingType !== "System" && defaultingType !== "List")
    causes.push(notSupported(typePath, defaultingType, ["System", "List"]))
  else if (defaultingType === "System" && defaultConstraints.length > 0)
    causes.push(invalidValue(typePath, defaultingType, "when .defaultConstraints are not empty"))
  for (const [i, constraint] of defaultConstraints.entries()) {
    const here = at(path, "defaultConstraints", i)
    // A field that is absent in the file is absent here too, although pods must have it.
    const {
      maxSkew = 0,
      topologyKey = "",
      whenUnsatisfiable = "",
      labelSelector,
    } = constraint as Partial<typeof constraint>
    if (maxSkew <= 0) causes.push(invalidValue(at(here, "maxSkew"), maxSkew, "not in valid range (0, inf)"))
    if (topologyKey === "") causes.push(required(at(here, "topologyKey"), "can not be empty"))
    else pushAll(causes, invalidValues(at(here, "topologyKey"), topologyKey, isQualifiedName(topologyKey)))
    if (whenUnsatisfiable === "") causes.push(required(at(here, "whenUnsatisfiable"), "can not be empty"))
    else if (!ACTIONS.includes(whenUnsatisfiable))
      causes.push(notSupported(at(here, "whenUnsatisfiable"), whenUnsatisfiable, ACTIONS))
    if (labelSelector !== undefined)
      causes.push(
        forbiddenField(
          at(here, "labelSelector"),
          "constraint must not define a selector, as they deduced for each pod",
        ),
      )
    const isAgain = defaultConstraints
      .slice(0, i)
      .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable)
    if (isAgain) causes.push(duplicate(here, `{${topologyKey}, ${whenUnsatisfiable}}`))
  }
  return causes
}
