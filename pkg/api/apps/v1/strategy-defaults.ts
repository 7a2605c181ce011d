/**
 * Defaults of update strategies, which depend on their type. Each gives back the very value when it has nothing to add.
 * Source: pkg/apis/apps/v1/defaults.go.
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
export const daemonSetStrategyDefaults = <S extends Strategy>(strategy: S): S => rolling(strategy, 1, 0)

/** Upstream leaves rollingUpdate out when the type was given and it was not; to us an absent partition and 0 are the same thing. */
export const statefulSetStrategyDefaults = <
  S extends { readonly type?: string | undefined; readonly rollingUpdate?: object | undefined },
>(
  strategy: S,
): S =>
  strategy.type === "RollingUpdate" && strategy.rollingUpdate === undefined
    ? { ...strategy, rollingUpdate: { partition: 0 } }
    : strategy
