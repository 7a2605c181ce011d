/**
 * Defaults of update strategies, which depend on their type. Each function returns the same value when it has nothing
 * to add. Source: pkg/apis/apps/v1/defaults.go.
 */
interface Strategy {
  readonly type?: string | undefined
  readonly rollingUpdate?: RollingUpdate | undefined
}
interface RollingUpdate {
  readonly maxUnavailable?: number | string | undefined
  readonly maxSurge?: number | string | undefined
}

function rolling<S extends Strategy>(strategy: S, maxUnavailable: number | string, maxSurge: number | string): S {
  const { type, rollingUpdate = {} } = strategy
  if (type !== "RollingUpdate" || (rollingUpdate.maxUnavailable !== undefined && rollingUpdate.maxSurge !== undefined))
    return strategy
  return { ...strategy, rollingUpdate: { maxUnavailable, maxSurge, ...rollingUpdate } }
}

export const deploymentStrategyDefaults = <S extends Strategy>(strategy: S): S => rolling(strategy, "25%", "25%")
export function daemonSetStrategyDefaults<S extends Strategy>(strategy: S): S {
  const { type, rollingUpdate } = strategy
  if (type === "RollingUpdate" || rollingUpdate === undefined) return rolling(strategy, 1, 0)
  // Go holds these by value, so they are zero when they have no meaning.
  return { ...strategy, rollingUpdate: { maxUnavailable: 0, maxSurge: 0, ...rollingUpdate } }
}

/** Sets the type and the partition when no type is given; with a type nothing is set. */
export const statefulSetStrategyDefaults = <
  S extends { readonly type?: string | undefined; readonly rollingUpdate?: object | undefined },
>(
  strategy: S,
): S =>
  (strategy.type ?? "") === ""
    ? { ...strategy, type: "RollingUpdate", rollingUpdate: strategy.rollingUpdate ?? { partition: 0 } }
    : strategy
