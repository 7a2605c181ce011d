import { builtinScheme } from "../../../pkg/api/scheme.ts"
import type { Features } from "../../../pkg/component/features.ts"
import { OFF_VERSIONS, OPTIONAL_KINDS, runtimeConfigEntry, versionOf } from "../../../pkg/component/optional-kinds.ts"
import { didYouMean } from "../../../pkg/names/suggest.ts"
import { UsageError } from "../cli/usage-error.ts"

/**
 * Checks `--runtime-config`: versions that k3ts can serve may be turned on, and all others be given as they are here,
 * which is as in Kubernetes. @throws UsageError that says what cannot be turned on or off. Source: apiserver
 * pkg/server/resourceconfig/helpers.go
 */
export function refuseRuntimeConfig(given: readonly string[], features: Features): void {
  if (given.length === 0) return
  const served = builtinScheme().groups.flatMap(({ name, versions }) =>
    versions.map((version) => (name === "" ? version : `${name}/${version}`)),
  )
  for (const text of given) {
    const refusal = refusalOf(text, served, features)
    if (refusal !== undefined) throw new UsageError(`--runtime-config ${text}: ${refusal}`)
  }
}

function refusalOf(text: string, served: readonly string[], features: Features): string | undefined {
  const entry = runtimeConfigEntry(text)
  if (entry === undefined) return "must be GROUP/VERSION=true or GROUP/VERSION=false"
  const { key, on } = entry
  if (key === "api/all" || key === "api/ga") return on ? undefined : "the stable versions cannot be turned off"
  if (key === "api/beta" || key === "api/alpha") return undefined
  const [group = "", version = "", resource] = key.split("/")
  const name = group === "api" && version !== "" ? version : version === "" ? group : `${group}/${version}`
  if (served.includes(name))
    return on ? undefined : `${name}${resource === undefined ? "" : `/${resource}`} cannot be turned off`
  const stage = (["beta", "alpha"] as const).find((one) => OFF_VERSIONS[one].includes(name))
  if (stage === undefined)
    return `unknown api group or version${didYouMean(name, [...served, ...OFF_VERSIONS.beta, ...OFF_VERSIONS.alpha])}`
  if (!on) return undefined
  const here = OPTIONAL_KINDS.filter(
    (kind) => versionOf(kind) === name && (resource === undefined || kind.plural === resource),
  )
  if (here.length === 0) {
    const all = resource === undefined ? name : `${name}/${resource}`
    return `${all} is ${stage} and off in Kubernetes 1.36, and not in k3ts`
  }
  if (here.some(({ gate }) => features[gate])) return undefined
  const gates = [...new Set(here.map(({ gate }) => `${gate}=true`))]
  return `serves nothing without a gate: add --feature-gates ${gates.join(" or ")}`
}
