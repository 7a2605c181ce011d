/**
 * The address families of a Service. Source: pkg/registry/core/service/storage/alloc.go initIPFamilyFields.
 */
import { clusterIPFaults } from "../../../../../pkg/api/core/v1/service/service-validation.ts"
import type { ServiceSpec } from "../../../../../pkg/api/core/v1/service/servicespec.ts"
import { familyOf, type Family } from "../../../../../pkg/apimachinery/addresses/cidr.ts"
import type { Cause } from "../../../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../../../pkg/apimachinery/json/equal.ts"
import { at, invalidValue } from "../../../../../pkg/apimachinery/validation/field-errors.ts"

/**
 * Returns the spec with its families and their policy set, or the faults. `served`: the families of Services in this
 * cluster, the primary one first.
 */
export function withFamilies(
  sent: ServiceSpec,
  old: ServiceSpec | undefined,
  served: readonly Family[],
): ServiceSpec | readonly Cause[] {
  if (sent.type === "ExternalName" || keepsPreference(sent, old)) return sent
  const takesAnyEndpoints = sent.clusterIP === "None" && Object.keys(sent.selector ?? {}).length === 0
  const ipFamilyPolicy =
    sent.ipFamilyPolicy ?? old?.ipFamilyPolicy ?? (takesAnyEndpoints ? "RequireDualStack" : "SingleStack")
  const spec = reduced({ ...sent, ipFamilyPolicy }, old)
  const loose = clusterIPFaults(spec)
  if (loose.length > 0) return loose
  const { clusterIPs = [], ipFamilies: named = [] } = spec
  const unnamed = clusterIPs[0] === "None" ? [] : clusterIPs.slice(named.length)
  const faults = [...policyFaults(spec, old), ...foreignAddresses(clusterIPs, unnamed, served)]
  if (faults.length > 0) return faults
  const ipFamilies = [...named, ...unnamed.map(familyOf)]
  const chosen = ipFamilies.length === 0 ? served.slice(0, 1) : ipFamilies
  // A headless Service without selector accepts endpoints of any family.
  if (takesAnyEndpoints) return { ...spec, ipFamilies: ipFamilyPolicy === "SingleStack" ? chosen : both(chosen) }
  const unserved = [
    ...(ipFamilyPolicy === "RequireDualStack" && served.length < 2
      ? [invalidValue("spec.ipFamilyPolicy", ipFamilyPolicy, "this cluster is not configured for dual-stack services")]
      : []),
    ...ipFamilies.flatMap((family, i) =>
      (served as readonly string[]).includes(family)
        ? []
        : [invalidValue(at("spec.ipFamilies", i), family, "not configured on this cluster")],
    ),
  ]
  if (unserved.length > 0) return unserved
  return { ...spec, ipFamilies: ipFamilyPolicy !== "SingleStack" && served.length === 2 ? both(chosen) : chosen }
}

/** The faults of addresses that name a family by themselves, which this cluster does not have. */
const foreignAddresses = (
  clusterIPs: readonly string[],
  unnamed: readonly string[],
  served: readonly Family[],
): readonly Cause[] =>
  unnamed.flatMap((ip, i) =>
    served.includes(familyOf(ip))
      ? []
      : [
          invalidValue(
            at("spec.clusterIPs", clusterIPs.length - unnamed.length + i),
            clusterIPs,
            `${familyOf(ip)} is not configured on this cluster`,
          ),
        ],
  )

/** Whether a Service with PreferDualStack keeps what it has: until its type, addresses or families are changed. */
export const keepsPreference = (spec: ServiceSpec, old: ServiceSpec | undefined): boolean =>
  old !== undefined &&
  spec.type === old.type &&
  spec.ipFamilyPolicy === "PreferDualStack" &&
  old.ipFamilyPolicy === "PreferDualStack" &&
  sameAddresses(spec, old) &&
  sameFamilies(spec, old)
const sameAddresses = (spec: ServiceSpec, old: ServiceSpec): boolean =>
  deepEqual(spec.clusterIPs ?? [], old.clusterIPs ?? [])
const sameFamilies = (spec: ServiceSpec, old: ServiceSpec): boolean =>
  deepEqual(spec.ipFamilies ?? [], old.ipFamilies ?? [])

/** Changing the policy to SingleStack drops the second address and family, each unless it is changed too. */
function reduced(spec: ServiceSpec, old: ServiceSpec | undefined): ServiceSpec {
  if (old === undefined || spec.ipFamilyPolicy !== "SingleStack") return spec
  const { clusterIPs, ipFamilies } = spec
  return {
    ...spec,
    ...(clusterIPs !== undefined && sameAddresses(spec, old) ? { clusterIPs: clusterIPs.slice(0, 1) } : {}),
    ...(ipFamilies !== undefined && sameFamilies(spec, old) ? { ipFamilies: ipFamilies.slice(0, 1) } : {}),
  }
}

function policyFaults(
  { ipFamilyPolicy, clusterIPs = [], ipFamilies = [] }: ServiceSpec,
  old: ServiceSpec | undefined,
): readonly Cause[] {
  const wrong = (why: string) => invalidValue("spec.ipFamilyPolicy", ipFamilyPolicy, why)
  if (ipFamilyPolicy === "SingleStack")
    return [
      ...(clusterIPs.length === 2
        ? [wrong("must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified")]
        : []),
      ...(ipFamilies.length === 2
        ? [wrong("must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified")]
        : []),
    ]
  return [
    ...((old?.clusterIPs ?? []).length === 2 && clusterIPs.length === 1
      ? [wrong("must be 'SingleStack' to release the secondary cluster IP")]
      : []),
    ...((old?.ipFamilies ?? []).length === 2 && ipFamilies.length === 1
      ? [wrong("must be 'SingleStack' to release the secondary IP family")]
      : []),
  ]
}

const both = (families: readonly string[]): readonly string[] =>
  families.length > 1 ? families : [...families, families[0] === "IPv4" ? "IPv6" : "IPv4"]
