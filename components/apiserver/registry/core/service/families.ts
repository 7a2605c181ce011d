/**
 * The address families of a Service; only IPv4 is supported. Source: pkg/registry/core/service/storage/alloc.go
 * initIPFamilyFields.
 */
import { familyOf } from "../../../../../pkg/apimachinery/cidr.ts"
import { clusterIPFaults } from "../../../../../pkg/api/core/v1/service/service-validation.ts"
import type { ServiceSpec } from "../../../../../pkg/api/core/v1/service/service.ts"
import type { Cause } from "../../../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../../../pkg/apimachinery/equal.ts"
import { at, invalidValue } from "../../../../../pkg/apimachinery/field-errors.ts"

const SERVED = "IPv4"

/** Returns the spec with its families and their policy set, or the faults. */
export function withFamilies(sent: ServiceSpec, old: ServiceSpec | undefined): ServiceSpec | readonly Cause[] {
  if (sent.type === "ExternalName" || keepsPreference(sent, old)) return sent
  const takesAnyEndpoints = sent.clusterIP === "None" && Object.keys(sent.selector ?? {}).length === 0
  const ipFamilyPolicy =
    sent.ipFamilyPolicy ?? old?.ipFamilyPolicy ?? (takesAnyEndpoints ? "RequireDualStack" : "SingleStack")
  const spec = reduced({ ...sent, ipFamilyPolicy }, old)
  const loose = clusterIPFaults(spec)
  const faults = loose.length > 0 ? loose : policyFaults(spec, old)
  if (faults.length > 0) return faults
  const { clusterIPs = [] } = spec
  const named = spec.ipFamilies?.length ?? 0
  const inferred = clusterIPs[0] === "None" ? [] : clusterIPs.slice(named)
  const foreign = inferred.flatMap((ip, i) =>
    familyOf(ip) === SERVED
      ? []
      : [
          invalidValue(
            at("spec.clusterIPs", named + i),
            clusterIPs,
            `${familyOf(ip)} is not configured on this cluster`,
          ),
        ],
  )
  if (foreign.length > 0) return foreign
  const ipFamilies = [...(spec.ipFamilies ?? []), ...inferred.map(familyOf)]
  // A headless Service without selector accepts endpoints of any family.
  if (takesAnyEndpoints)
    return { ...spec, ipFamilies: bothUnlessSingle(ipFamilies.length === 0 ? [SERVED] : ipFamilies, ipFamilyPolicy) }
  const unserved = [
    ...(ipFamilyPolicy === "RequireDualStack"
      ? [invalidValue("spec.ipFamilyPolicy", ipFamilyPolicy, "this cluster is not configured for dual-stack services")]
      : []),
    ...ipFamilies.flatMap((family, i) =>
      family === SERVED ? [] : [invalidValue(at("spec.ipFamilies", i), family, "not configured on this cluster")],
    ),
  ]
  return unserved.length > 0 ? unserved : { ...spec, ipFamilies: ipFamilies.length === 0 ? [SERVED] : ipFamilies }
}

/** A Service with PreferDualStack keeps what it has until its addresses or families are changed. */
const keepsPreference = (spec: ServiceSpec, old: ServiceSpec | undefined): boolean =>
  old !== undefined &&
  spec.ipFamilyPolicy === "PreferDualStack" &&
  old.ipFamilyPolicy === "PreferDualStack" &&
  sameLists(spec, old)
const sameLists = (spec: ServiceSpec, old: ServiceSpec): boolean =>
  deepEqual(spec.clusterIPs ?? [], old.clusterIPs ?? []) && deepEqual(spec.ipFamilies ?? [], old.ipFamilies ?? [])

/** Changing the policy to SingleStack drops the second address and family. */
function reduced(spec: ServiceSpec, old: ServiceSpec | undefined): ServiceSpec {
  if (old === undefined || spec.ipFamilyPolicy !== "SingleStack" || !sameLists(spec, old)) return spec
  return {
    ...spec,
    ...(spec.clusterIPs === undefined ? {} : { clusterIPs: spec.clusterIPs.slice(0, 1) }),
    ...(spec.ipFamilies === undefined ? {} : { ipFamilies: spec.ipFamilies.slice(0, 1) }),
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

const bothUnlessSingle = (families: readonly string[], policy: string): readonly string[] =>
  families.length > 1 || policy === "SingleStack" ? families : [...families, families[0] === "IPv4" ? "IPv6" : "IPv4"]
