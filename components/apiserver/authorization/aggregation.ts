import { ClusterRole } from "../../../pkg/api/rbac/v1/clusterrole.ts"
import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { fromLabelSelector } from "../../../pkg/apimachinery/selectors/labels.ts"
import { applyConfiguration } from "../../../pkg/apimachinery/patch/apply/apply.ts"
import { timestamp, type Clock } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { StorageError, type Storage } from "../../../pkg/storage/storage.ts"
import type { Objects } from "../cacher/objects.ts"
import { storageKey, storagePrefix } from "../cacher/view.ts"

/**
 * Returns the rules of an aggregated role: those of every other role that its selectors match, each once. Undefined
 * when the role is not aggregated.
 */
export function aggregatedRules(role: ClusterRole, all: readonly ClusterRole[]): readonly PolicyRule[] | undefined {
  const selectors = role.aggregationRule?.clusterRoleSelectors
  if (selectors === undefined) return undefined
  const rules = new Map<string, PolicyRule>()
  for (const selector of selectors.map(fromLabelSelector)) {
    for (const other of all) {
      if (other.metadata.name === role.metadata.name || !selector.matches(other.metadata.labels ?? {})) continue
      for (const rule of other.rules ?? []) {
        const text = textOf(rule)
        if (!rules.has(text)) rules.set(text, rule)
      }
    }
  }
  return [...rules.values()]
}

/** Returns a text that only equal rules have. */
const textOf = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): string =>
  JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs])

/** The field manager of the rules of aggregated roles. */
export const AGGREGATION = "clusterrole-aggregation-controller"

/**
 * Keeps aggregated cluster roles up to date whenever a cluster role changes. Aggregated roles may aggregate others,
 * which settles after a few rounds. Source: pkg/controller/clusterroleaggregation. Differs from upstream: it runs in
 * the API server, so it needs no right to escalate.
 */
export function keepAggregated({
  storage,
  objects,
  clock,
  log,
}: {
  readonly storage: Storage
  readonly objects: Objects
  readonly clock: Clock
  readonly log: Logger
}): () => void {
  const prefix = storagePrefix(ClusterRole, undefined)
  const settle = () => {
    const all = objects.list(ClusterRole)
    for (const role of all) {
      const rules = aggregatedRules(role, all)
      if (rules === undefined || deepEqual(rules, role.rules ?? [])) continue
      const { apiVersion, kind } = ClusterRole
      const config = { apiVersion, kind, metadata: { name: role.metadata.name }, rules }
      storage
        .write({
          key: storageKey(ClusterRole, role.metadata),
          object: applyConfiguration(ClusterRole, role, config, {
            manager: AGGREGATION,
            force: true,
            now: timestamp(clock),
          }).object,
          expected: Number(role.metadata.resourceVersion),
          time: clock.now(),
          author: `system:controller:${AGGREGATION}`,
        })
        .catch((error: unknown) => {
          // Another write came first; its event triggers another aggregation.
          if (!(error instanceof StorageError && (error.code === "conflict" || error.code === "missing")))
            log.error("Failed to aggregate a ClusterRole", { role: role.metadata.name, error })
        })
    }
  }
  settle()
  return storage.subscribe(() => settle(), [prefix])
}
