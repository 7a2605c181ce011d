/** The rules of a KubeSchedulerConfiguration. Source: pkg/scheduler/apis/config/validation/validation.go. */
import { isExtendedResource } from "../../../pkg/api/core/v1/resources/resource-names.ts"
import type { Cause } from "../../../pkg/apimachinery/errors.ts"
import { parseDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import {
  at,
  duplicate,
  invalidValue,
  invalidValues,
  required,
} from "../../../pkg/apimachinery/validation/field-errors.ts"
import { isQualifiedName } from "../../../pkg/apimachinery/validation/names.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"
import type {
  ExtenderConfig,
  KubeSchedulerConfiguration,
  KubeSchedulerProfile,
  PluginSet,
} from "./scheduler-configuration.ts"

/** Returns what is wrong in a configuration, beside its plugins' arguments and names. */
export function configurationFaults(configuration: KubeSchedulerConfiguration): readonly Cause[] {
  const { leaderElection, clientConnection, parallelism, profiles = [], percentageOfNodesToScore } = configuration
  const { podInitialBackoffSeconds: initial, podMaxBackoffSeconds: longest, extenders = [] } = configuration
  return [
    ...((clientConnection.burst ?? 0) < 0
      ? [invalidValue("clientConnection.burst", clientConnection.burst, "must be non-negative")]
      : []),
    ...electionFaults(leaderElection),
    ...(parallelism > 0
      ? []
      : [invalidValue("parallelism", parallelism, "should be an integer value greater than zero")]),
    ...(profiles.length === 0 ? [required("profiles")] : profilesFaults(profiles)),
    ...percentageFaults("percentageOfNodesToScore", percentageOfNodesToScore),
    ...(initial > 0 ? [] : [invalidValue("podInitialBackoffSeconds", initial, "must be greater than 0")]),
    ...(longest >= initial
      ? []
      : [invalidValue("podMaxBackoffSeconds", longest, "must be greater than or equal to PodInitialBackoffSeconds")]),
    ...extendersFaults(extenders),
  ]
}

function electionFaults(election: KubeSchedulerConfiguration["leaderElection"]): readonly Cause[] {
  const causes: Cause[] = []
  if (!election.leaderElect) return causes
  const path = "leaderElection"
  const ms = (field: "leaseDuration" | "renewDeadline" | "retryPeriod") => parseDuration(election[field]) ?? 0
  for (const field of ["leaseDuration", "renewDeadline", "retryPeriod"] as const)
    if (ms(field) <= 0) causes.push(invalidValue(at(path, field), election[field], "must be greater than zero"))
  if (ms("leaseDuration") <= ms("renewDeadline"))
    causes.push(invalidValue(at(path, "leaseDuration"), election.renewDeadline, "must be greater than `RenewDeadline`"))
  for (const field of ["resourceLock", "resourceNamespace", "resourceName"] as const)
    if (election[field] === "") causes.push(required(at(path, field)))
  if (election.resourceLock !== "leases")
    causes.push(invalidValue(at(path, "resourceLock"), election.resourceLock, 'resourceLock value must be "leases"'))
  return causes
}

function profilesFaults(profiles: readonly KubeSchedulerProfile[]): readonly Cause[] {
  const causes: Cause[] = []
  for (const [
    i,
    { schedulerName = "", percentageOfNodesToScore, plugins = {}, pluginConfig = [] },
  ] of profiles.entries()) {
    const path = at("profiles", i)
    if (schedulerName === "") causes.push(required(at(path, "schedulerName")))
    pushAll(causes, percentageFaults(at(path, "percentageOfNodesToScore"), percentageOfNodesToScore))
    for (const [point, set] of Object.entries(plugins) as [string, PluginSet | undefined][])
      for (const [j, { name }] of (set?.enabled ?? []).entries())
        if (REMOVED.has(name)) causes.push(removedPlugin(at(path, "plugins", point, "enabled", j), name))
    for (const [j, { name }] of pluginConfig.entries()) {
      const here = at(path, "pluginConfig", j)
      if (pluginConfig.slice(0, j).some((other) => other.name === name)) causes.push(duplicate(here, name))
      if (REMOVED.has(name)) causes.push(removedPlugin(here, name))
    }
    const before = profiles.slice(0, i).findLastIndex((other) => (other.schedulerName ?? "") === schedulerName)
    if (before >= 0) causes.push(duplicate(at(path, "schedulerName"), `profiles[${before}].schedulerName`))
  }
  return [...causes, ...queueSortFaults(profiles)]
}

/** Plugins of earlier versions, which v1 refuses. */
const REMOVED: ReadonlySet<string> = new Set(["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"])
export const isRemovedPlugin = (name: string): boolean => REMOVED.has(name)

const VERSION = "kubescheduler.config.k8s.io/v1"
const removedPlugin = (path: string, name: string): Cause =>
  invalidValue(path, name, `was invalid in version "${VERSION}" (KubeSchedulerConfiguration is version "${VERSION}")`)

/** One queue serves all profiles, so that all must sort it alike. Source: validateCommonQueueSort. */
function queueSortFaults(profiles: readonly KubeSchedulerProfile[]): readonly Cause[] {
  const causes: Cause[] = []
  const setOf = ({
    plugins,
  }: KubeSchedulerProfile): { readonly [K in keyof PluginSet]-?: NonNullable<PluginSet[K]> } => ({
    enabled: plugins?.queueSort?.enabled ?? [],
    disabled: plugins?.queueSort?.disabled ?? [],
  })
  const [first, ...others] = profiles
  const canon = setOf(first!)
  if (canon.enabled.length > 1)
    causes.push(
      invalidValue(
        "profiles[0].plugins.queueSort.enabled",
        canon.enabled.length,
        "only one queue sort plugin can be enabled",
      ),
    )
  const name = canon.enabled[0]?.name
  const argsOf = ({ pluginConfig = [] }: KubeSchedulerProfile) =>
    pluginConfig.find((one) => name !== undefined && one.name === name)
  for (const [i, profile] of others.entries()) {
    const path = at("profiles", i + 1)
    const set = setOf(profile)
    if (!equal(set, canon))
      causes.push(invalidValue(at(path, "plugins", "queueSort"), set, "must be the same for all profiles"))
    const args = argsOf(profile)
    if (args !== undefined && !equal(args.args, argsOf(first!)?.args))
      causes.push(
        invalidValue(at(path, "pluginConfig", "args"), args.args, "queueSort must be the same for all profiles"),
      )
  }
  return causes
}

const equal = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

const percentageFaults = (path: string, percentage: number | undefined): readonly Cause[] =>
  percentage === undefined || (percentage >= 0 && percentage <= 100)
    ? []
    : [invalidValue(path, percentage, "not in valid range [0-100]")]

function extendersFaults(extenders: readonly ExtenderConfig[]): readonly Cause[] {
  const causes: Cause[] = []
  const managed = new Set<string>()
  for (const [i, { prioritizeVerb, weight, managedResources = [] }] of extenders.entries()) {
    const path = at("extenders", i)
    if (prioritizeVerb !== "" && weight <= 0)
      causes.push(invalidValue(at(path, "weight"), weight, "must have a positive weight applied to it"))
    for (const [j, { name }] of managedResources.entries()) {
      const here = at(path, "managedResources", j, "name")
      const faults = invalidValues(here, name, isQualifiedName(name))
      pushAll(causes, faults)
      if (faults.length === 0 && !isExtendedResource(name))
        causes.push(invalidValue(here, name, "is an invalid extended resource name"))
      if (managed.has(name)) causes.push(invalidValue(here, name, "duplicate extender managed resource name"))
      managed.add(name)
    }
  }
  const binders = extenders.filter(({ bindVerb }) => bindVerb !== "").length
  if (binders > 1)
    causes.push(
      invalidValue("extenders", `found ${binders} extenders implementing bind`, "only one extender can implement bind"),
    )
  return causes
}
