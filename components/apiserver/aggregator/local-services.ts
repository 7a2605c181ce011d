import type { APIService } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { BUILTIN_PRIORITIES, type Priority } from "./priorities.ts"

/**
 * Label of APIServices that the server manages: `onstart` at its start only, `true` at all times. Source:
 * kube-aggregator pkg/controllers/autoregister.
 */
export const AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged"

/** Returns how the server manages an APIService; undefined when it does not. */
export function managed({ metadata: { labels } }: KubeObject): "onstart" | "true" | undefined {
  const how = labels?.[AUTOMANAGED]
  return how === "onstart" || how === "true" ? how : undefined
}

/** Returns the APIService of a version that this server serves, without status. */
export const localService = (
  group: string,
  version: string,
  priority: Priority,
  how: "onstart" | "true",
): Pick<APIService, "metadata"> & { readonly spec: object } => ({
  metadata: { name: `${version}.${group}`, labels: { [AUTOMANAGED]: how } },
  spec: {
    ...(group === "" ? {} : { group }),
    version,
    groupPriorityMinimum: priority.group,
    versionPriority: priority.version,
  },
})

/** Returns the APIServices of all built-in versions in `scheme`, except that of the APIService kind itself. */
export const builtinServices = ({ groups }: Pick<Scheme, "groups">) =>
  groups.flatMap(({ name, versions }) =>
    versions.flatMap((version) => {
      const priority = BUILTIN_PRIORITIES.get(`${name}/${version}`)
      return priority === undefined ? [] : [localService(name, version, priority, "onstart")]
    }),
  )

/**
 * Resets the spec of the stored APIService of a built-in version when the server starts, unless an administrator took
 * the APIService over by removing its label.
 */
export const reconcileLocal = (stored: APIService, { spec }: APIService): APIService =>
  managed(stored) === undefined || deepEqual(stored.spec, spec) ? stored : { ...stored, spec }
